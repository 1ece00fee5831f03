// Composition root: joins the window's part to the supervisor, which is loaded only when it is opened.
import type { ExtensionContext } from 'vscode'
import { activateUi } from './ui/activation'
import { realOpener } from './ui/opener'

export function activate(context: ExtensionContext): void {
  activateUi(context, (log) => realOpener(context, log))
}

/** Returns at once: everything that matters is on disk already, and children go on under their keepers. */
export function deactivate(): void {
  // The context's subscriptions release the owner's lease, synchronously; there is nothing to wait for.
}

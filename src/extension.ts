// Composition root: joins the window's part to the supervisor, which is loaded only when it is opened.
import type { ExtensionContext } from 'vscode'
import { activateUi } from './ui/activation'
import { makeOpener } from './ui/opener'

export function activate(context: ExtensionContext): void {
  activateUi(context, makeOpener(context))
}

/** Returns at once: everything that matters is on disk already, and children go on under their keepers. */
export function deactivate(): void {
  // The context's subscriptions release what has to be released, synchronously; there is nothing to wait for.
}

// Composition root: joins the window's part to the supervisor, which is loaded only when it is opened.
import type { ExtensionContext } from 'vscode'
import type { CoxswainApi } from '../api/coxswain'
import { activateUi } from './ui/activation'
import { realOpener } from './ui/opener'

/** @returns the API of other extensions, as api/coxswain.d.ts says it */
export function activate(context: ExtensionContext): CoxswainApi {
  return activateUi(context, (log) => realOpener(context, log))
}

/** Returns at once: everything that matters is on disk already, and children go on under their keepers. */
export function deactivate(): void {
  // The context's subscriptions release the owner's lease, synchronously; there is nothing to wait for.
}

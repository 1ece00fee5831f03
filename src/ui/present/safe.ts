// Text by others on its way into VS Code's own surfaces that read a little markup: notifications and input prompts turn
// `[a](command:b)` into links, quick picks and the status bar turn `$(name)` into icons. Nothing of that may come from an
// agent, a branch or a goal.
import { plainLine } from '../../core/plainText'

/** For notifications, modal messages and input prompts. */
export function forNotice(text: string, max = 600): string {
  return plainLine(text, max).replace(/\]\(/g, '] (')
}

/** For labels, descriptions and details of quick picks, and for the status bar. */
export function forPick(text: string, max = 200): string {
  return forNotice(text, max).replace(/\$\(/g, '\\$(')
}

// What a link from outside may mean: which child to show, and nothing else. Pure.

/** The child named by the path of a `vscode://coxswain.coxswain/child/ID` link; null when it names none. */
export function linkedChild(path: string): string | null {
  return /^\/child\/([\w-]{1,100})$/.exec(path)?.[1] ?? null
}

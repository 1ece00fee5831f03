// The one door through which every string people read in the host passes, so that the pure presentation files need not
// import vscode. extension.ts hands in VS Code's own translator at activation; without one, English comes back.

type Args = Readonly<Record<string, string | number>>
export type Translate = (message: string, args?: Args) => string

/** Fills `{name}` places; a place without a value stays as it is. */
export function fill(message: string, args?: Args): string {
  if (args === undefined) return message
  return message.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = args[name]
    return value === undefined ? place : String(value)
  })
}

let translate: Translate = fill

export function useTranslator(translator: Translate): void {
  translate = translator
}

export function t(message: string, args?: Args): string {
  return translate(message, args)
}

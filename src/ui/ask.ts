// Steps of a keyboard-only flow: one text, one choice, with a way back. Thin over VS Code's quick input; every step ends
// by accept, by Back, or by being dismissed, and never holds up anything else.
import * as vscode from 'vscode'

export const BACK = Symbol('back')
export type Asked<T> = T | typeof BACK | undefined

interface Step {
  readonly title: string
  readonly step?: number
  readonly steps?: number
}

/** A button beside the title that ends the step with its own value. */
export interface StepButton<B> {
  readonly icon: string
  readonly tooltip: string
  readonly value: (typed: string) => B
}

export function askText<B = never>(
  options: Step & {
    readonly prompt: string
    readonly placeholder?: string
    readonly value?: string
    /** The caret stands behind the value instead of selecting it. */
    readonly goOn?: boolean
    /** A sentence that stops Enter, or null. */
    readonly refuse: (text: string) => string | null
    /** A remark shown while typing that stops nothing. */
    readonly remark?: (text: string) => string | null
    readonly button?: StepButton<B>
    /** Ends the step by what was just typed; null goes on typing. */
    readonly trigger?: (typed: string) => B | null
  },
): Promise<Asked<string | B>> {
  return new Promise((resolve) => {
    const input = vscode.window.createInputBox()
    place(input, options)
    input.prompt = options.prompt
    input.placeholder = options.placeholder ?? ''
    input.value = options.value ?? ''
    if (options.goOn === true) input.valueSelection = [input.value.length, input.value.length]
    input.ignoreFocusOut = true
    const button =
      options.button === undefined
        ? null
        : { iconPath: new vscode.ThemeIcon(options.button.icon), tooltip: options.button.tooltip }
    input.buttons = [...back(options), ...(button === null ? [] : [button])]
    let tried = false
    const check = (): string | null => {
      const problem = options.refuse(input.value)
      const remark = options.remark?.(input.value) ?? null
      if (problem !== null && (tried || input.value !== '')) input.validationMessage = problem
      else if (remark !== null)
        input.validationMessage = { message: remark, severity: vscode.InputBoxValidationSeverity.Info }
      else input.validationMessage = ''
      return problem
    }
    let former = input.value
    settle(input, resolve, (end) => {
      input.onDidChangeValue((typed) => {
        check()
        // Only what grew was typed: taking a character back starts nothing.
        const wanted = typed.length > former.length ? (options.trigger?.(typed) ?? null) : null
        former = typed
        if (wanted !== null) end(wanted)
      })
      input.onDidAccept(() => {
        tried = true
        if (check() === null) end(input.value)
      })
      input.onDidTriggerButton((pressed) => {
        if (pressed === vscode.QuickInputButtons.Back) end(BACK)
        else if (options.button !== undefined) end(options.button.value(input.value))
      })
    })
    input.show()
  })
}

export interface Choice<T> extends vscode.QuickPickItem {
  readonly value: T
}

export function askOne<T, B = never>(
  options: Step & {
    readonly placeholder: string
    readonly items: readonly Choice<T>[] | Promise<readonly Choice<T>[]>
    /** Which item Enter takes at once. */
    readonly active?: (value: T) => boolean
    readonly button?: StepButton<B>
  },
): Promise<Asked<T | B>> {
  return new Promise((resolve, reject) => {
    const pick = vscode.window.createQuickPick<Choice<T>>()
    place(pick, options)
    pick.placeholder = options.placeholder
    pick.matchOnDescription = true
    pick.matchOnDetail = true
    pick.ignoreFocusOut = true
    const button =
      options.button === undefined
        ? null
        : { iconPath: new vscode.ThemeIcon(options.button.icon), tooltip: options.button.tooltip }
    pick.buttons = [...back(options), ...(button === null ? [] : [button])]
    let over = false
    settle(
      pick,
      (value: Asked<T | B>) => {
        over = true
        resolve(value)
      },
      (end) => {
        pick.onDidAccept(() => {
          const chosen = pick.selectedItems[0]
          if (chosen !== undefined) end(chosen.value)
        })
        pick.onDidTriggerButton((pressed) => {
          if (pressed === vscode.QuickInputButtons.Back) end(BACK)
          else if (options.button !== undefined) end(options.button.value(pick.value))
        })
      },
    )
    const fillIn = (items: readonly Choice<T>[]): void => {
      if (over) return
      pick.items = items
      const active = options.active === undefined ? undefined : items.find((item) => options.active?.(item.value))
      if (active !== undefined) pick.activeItems = [active]
      pick.busy = false
    }
    pick.busy = true
    pick.show()
    Promise.resolve(options.items).then(fillIn, (error: unknown) => {
      pick.hide()
      reject(error)
    })
  })
}

/** Any number of choices, ticked. */
export function askMany<T>(
  options: Step & {
    readonly placeholder: string
    readonly items: readonly Choice<T>[] | Promise<readonly Choice<T>[]>
  },
): Promise<Asked<readonly T[]>> {
  return new Promise((resolve, reject) => {
    const pick = vscode.window.createQuickPick<Choice<T>>()
    place(pick, options)
    pick.placeholder = options.placeholder
    pick.canSelectMany = true
    pick.matchOnDescription = true
    pick.ignoreFocusOut = true
    pick.buttons = back(options)
    let over = false
    settle(
      pick,
      (value: Asked<readonly T[]>) => {
        over = true
        resolve(value)
      },
      (end) => {
        pick.onDidAccept(() => end(pick.selectedItems.map(({ value }) => value)))
        pick.onDidTriggerButton(() => end(BACK))
      },
    )
    pick.busy = true
    pick.show()
    Promise.resolve(options.items).then(
      (items) => {
        if (over) return
        pick.items = items
        pick.selectedItems = items.filter(({ picked }) => picked === true)
        pick.busy = false
      },
      (error: unknown) => {
        pick.hide()
        reject(error)
      },
    )
  })
}

function place(input: vscode.QuickInput, { title, step, steps }: Step): void {
  input.title = title
  input.step = step
  input.totalSteps = steps
}

function back({ step }: Step): vscode.QuickInputButton[] {
  return step !== undefined && step > 1 ? [vscode.QuickInputButtons.Back] : []
}

function settle<T>(
  input: vscode.QuickInput,
  resolve: (value: T | undefined) => void,
  listen: (end: (value: T) => void) => void,
): void {
  let result: T | undefined
  input.onDidHide(() => {
    resolve(result)
    input.dispose()
  })
  listen((value) => {
    result = value
    input.hide()
  })
}

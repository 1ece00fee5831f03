// The only file that knows the toolkit: registers the few components in use and hands out ready-made controls. A control
// that cannot be used stays reachable by keyboard and says why, which the `disabled` of HTML would prevent.
import {
  provideVSCodeDesignSystem,
  vsCodeButton,
  vsCodeProgressRing,
  vsCodeTextField,
} from '@vscode/webview-ui-toolkit'
import { el, icon, setText } from './dom'

provideVSCodeDesignSystem().register(vsCodeButton(), vsCodeTextField(), vsCodeProgressRing())

export interface ButtonControl {
  readonly element: HTMLElement
  label(text: string): void
  /** `why` null: usable. Otherwise the reason stands in its tooltip and a press only tells it. */
  refuse(why: string | null): void
}

export function button(options: {
  readonly label: string
  readonly icon?: string
  readonly look?: 'primary' | 'secondary' | 'icon'
  readonly title?: string
  readonly press: () => void
  /** Told the reason when a refused button is pressed. */
  readonly refused?: (why: string) => void
}): ButtonControl {
  const element = document.createElement('vscode-button')
  element.setAttribute('appearance', options.look ?? 'secondary')
  // No span: the toolkit takes those in a button for icons and gives them an icon's width.
  const text = el('div', 'label', options.label)
  if (options.look === 'icon') {
    element.setAttribute('aria-label', options.label)
    element.append(icon(options.icon ?? 'circle'))
    element.title = options.title ?? options.label
  } else {
    if (options.icon !== undefined) {
      const sign = icon(options.icon)
      sign.slot = 'start'
      element.append(sign)
    }
    element.append(text)
    // The words may give way where there is little room; the name stays.
    element.setAttribute('aria-label', options.label)
    if (options.title !== undefined) element.title = options.title
  }
  let reason: string | null = null
  element.addEventListener('click', (event) => {
    event.preventDefault()
    if (reason === null) options.press()
    else options.refused?.(reason)
  })
  return {
    element,
    label: (words) => {
      if (text.textContent === words) return
      setText(text, words)
      element.setAttribute('aria-label', words)
    },
    refuse: (why) => {
      if (why === reason) return
      reason = why
      if (why === null) {
        element.removeAttribute('aria-disabled')
        element.removeAttribute('aria-description')
        element.classList.remove('refused')
        element.title = options.title ?? ''
      } else {
        element.setAttribute('aria-disabled', 'true')
        element.setAttribute('aria-description', why)
        element.classList.add('refused')
        element.title = `${options.label}: ${why}`
      }
    },
  }
}

export interface FieldControl {
  readonly element: HTMLElement
  value: string
  focus(): void
}

export function textField(options: {
  readonly label: string
  readonly placeholder?: string
  readonly enter: (value: string, shift: boolean) => void
  /** Told of every change a person makes. */
  readonly typed?: () => void
}): FieldControl {
  const element = document.createElement('vscode-text-field') as HTMLElement & { value: string }
  // The toolkit calls every field "Text field" once it is on the page.
  const name = (): void => {
    if (element.getAttribute('aria-label') !== options.label) element.setAttribute('aria-label', options.label)
  }
  new MutationObserver(name).observe(element, { attributeFilter: ['aria-label'] })
  name()
  if (options.placeholder !== undefined) element.setAttribute('placeholder', options.placeholder)
  if (options.typed !== undefined) element.addEventListener('input', options.typed)
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing) return
    event.preventDefault()
    options.enter(element.value, event.shiftKey)
  })
  return {
    element,
    get value() {
      return element.value
    },
    set value(text: string) {
      element.value = text
    },
    focus: () => element.focus(),
  }
}

export function progressRing(label: string): HTMLElement {
  const ring = document.createElement('vscode-progress-ring')
  ring.setAttribute('aria-label', label)
  return el('span', 'ring', ring)
}

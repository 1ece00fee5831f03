// Elements from plain values. The only way text gets onto the page is as a text node; no HTML string exists here.

type Part = Node | string | null

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...parts: readonly Part[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  if (className !== '') element.className = className
  for (const part of parts) if (part !== null) element.append(part)
  return element
}

/** A codicon; decoration only, the words beside it say the same. `loading~spin` turns. */
export function icon(id: string, color: string | null = null): HTMLElement {
  const [name = 'circle', modifier] = id.split('~')
  const element = el('span', `codicon codicon-${name}${modifier === undefined ? '' : ` codicon-modifier-${modifier}`}`)
  element.setAttribute('aria-hidden', 'true')
  // A theme colour's id is its CSS variable with dots for dashes.
  if (color !== null) element.style.color = `var(--vscode-${color.replace(/\./g, '-')})`
  return element
}

export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

export function show(element: HTMLElement, visible: boolean): void {
  if (element.hidden === visible) element.hidden = !visible
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

export function time(iso: string): HTMLTimeElement {
  const element = el('time', 'time', clockTime(iso))
  element.dateTime = iso
  element.title = new Date(iso).toLocaleString()
  return element
}

export function clockTime(iso: string): string {
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? '' : clock.format(date)
}

/** Bytes in words, for "Show all (5.0 MB)". */
export function size(n: number): string {
  if (n < 1_024) return `${n} B`
  return n < 1_048_576 ? `${(n / 1_024).toFixed(1)} KB` : `${(n / 1_048_576).toFixed(1)} MB`
}

// The list of files below an @ in the steer input: arrows move in it, Enter and Tab take one, Escape puts it away. The
// caret never leaves the input; a screen reader hears the option by its id.
import { el, show } from './dom'
import { mentionAt, withMention, type Mention } from './mention'
import { say } from './strings'

export class Mentions {
  readonly element = el('div', 'mentions')
  private mention: Mention | null = null
  private paths: readonly string[] = []
  private active = 0
  private asked = 0
  /** Where Escape put the list away: it stays away for that @. */
  private dismissedAt: number | null = null

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly files: (typed: string) => Promise<readonly string[]>,
    /** The text of the input was changed by a choice. */
    private readonly changed: () => void,
  ) {
    this.element.id = 'mentions'
    this.element.setAttribute('role', 'listbox')
    this.element.setAttribute('aria-label', say.mentions)
    this.element.hidden = true
    input.setAttribute('aria-autocomplete', 'list')
    input.setAttribute('aria-controls', this.element.id)
    input.addEventListener('input', () => void this.look())
    input.addEventListener('click', () => void this.look())
    input.addEventListener('blur', () => this.close())
  }

  /** @returns true when the key was meant for the list */
  key(event: KeyboardEvent): boolean {
    if (this.mention === null || this.paths.length === 0 || event.isComposing) return false
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp': {
        const step = event.key === 'ArrowDown' ? 1 : -1
        this.active = (this.active + step + this.paths.length) % this.paths.length
        this.render()
        return true
      }
      case 'Enter':
      case 'Tab':
        if (event.shiftKey) return false
        this.take(this.active)
        return true
      case 'Escape':
        this.dismissedAt = this.mention.from
        this.close()
        return true
    }
    return false
  }

  close(): void {
    this.asked++
    this.mention = null
    this.paths = []
    this.render()
  }

  private async look(): Promise<void> {
    const mention = mentionAt(this.input.value, this.input.selectionStart)
    if (mention === null) this.dismissedAt = null
    if (mention === null || mention.from === this.dismissedAt) return this.close()
    const asked = ++this.asked
    const paths = await this.files(mention.typed)
    // Something else was typed meanwhile.
    if (asked !== this.asked) return
    this.mention = mention
    this.paths = paths
    this.active = 0
    this.render()
  }

  private take(index: number): void {
    const path = this.paths[index]
    if (this.mention === null || path === undefined) return
    const { text, caret } = withMention(this.input.value, this.mention, path)
    this.close()
    this.input.value = text
    this.input.setSelectionRange(caret, caret)
    this.changed()
  }

  private render(): void {
    show(this.element, this.paths.length > 0)
    this.element.replaceChildren(
      ...this.paths.map((path, index) => {
        const option = el('div', index === this.active ? 'mention active' : 'mention', path)
        option.id = `mention-${index}`
        option.setAttribute('role', 'option')
        option.setAttribute('aria-selected', String(index === this.active))
        // Before the input would lose the focus.
        option.addEventListener('mousedown', (event) => {
          event.preventDefault()
          this.take(index)
        })
        return option
      }),
    )
    if (this.paths.length > 0) this.input.setAttribute('aria-activedescendant', `mention-${this.active}`)
    else this.input.removeAttribute('aria-activedescendant')
  }
}

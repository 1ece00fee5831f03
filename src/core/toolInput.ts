// What a person reads of a tool's input: the same words in a row, in the transcript and in the text log.

/** A tool's input as people read it: the one telling value, a list of arguments as a shell line, or compact JSON. */
export function asText(input: unknown): string {
  if (typeof input === 'string') return input
  if (input === undefined || input === null) return ''
  if (typeof input === 'object' && !Array.isArray(input)) {
    const fields = input as Record<string, unknown>
    for (const key of telling) {
      const value = fields[key]
      if (typeof value === 'string') return value
      const line = shellLine(value)
      if (line !== null) return line
    }
  }
  return JSON.stringify(input)
}

const telling = ['command', 'cmd', 'argv', 'file_path', 'path', 'pattern', 'url', 'query', 'message', 'description']

/** `['git', 'ls-files']` → `$ git ls-files`, quoted so that it reads as nothing else; null for what is no list of arguments. */
export function shellLine(value: unknown): string | null {
  if (!Array.isArray(value) || value.length === 0) return null
  const words = value as readonly unknown[]
  if (!words.every((word) => typeof word === 'string')) return null
  return `$ ${words.map((word) => (/^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')}`
}

// What a person reads of a tool's input.

/** A tool's input as people read it: the one telling value, or compact JSON. */
export function asText(input: unknown): string {
  if (typeof input === 'string') return input
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    const fields = input as Record<string, unknown>
    for (const key of ['command', 'file_path', 'path', 'pattern', 'url', 'query', 'description']) {
      const value = fields[key]
      if (typeof value === 'string') return value
    }
  }
  return input === undefined ? '' : JSON.stringify(input)
}

// One spelling for every JSON value, so that the same content hashes the same everywhere. Owns nothing else; hashing is
// done by whoever has a hash.

/**
 * JSON without white space, keys sorted by UTF-16 code unit at every depth, members whose value is undefined left out.
 * Throws a TypeError on what JSON cannot say (a function, a bigint, NaN, a cycle deeper than the stack).
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${value} is no JSON number`)
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (typeof value === 'object') {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
    return `{${members.join(',')}}`
  }
  throw new TypeError(`a ${typeof value} is no JSON value`)
}

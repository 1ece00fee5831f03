import { randomInt } from 'node:crypto'

/** Ten characters without look-alikes: 50 bits, and short enough to type. */
export function newId(): string {
  const alphabet = 'abcdefghjkmnpqrstvwxyz0123456789'
  return Array.from({ length: 10 }, () => alphabet[randomInt(alphabet.length)]).join('')
}

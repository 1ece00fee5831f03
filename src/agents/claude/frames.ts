// What Claude Code is told on stdin, and the uuids our messages go by.
import type { Outgoing } from '../../core/signals'

export function frame(message: Record<string, unknown>): Outgoing {
  return { to: 'stdin', text: `${JSON.stringify(message)}\n` }
}

/** A user turn, or with the model at work a steer. `client_composed` keeps `/…` from being run as a command. */
export function userMessage(uuid: string, content: string, more: Record<string, unknown> = {}): Outgoing {
  const composed = content.trimStart().startsWith('/') ? { client_composed: true } : {}
  return frame({
    type: 'user',
    uuid,
    message: { role: 'user', content },
    parent_tool_use_id: null,
    ...composed,
    ...more,
  })
}

/**
 * The uuid a steer goes by. A short plain id stands in it and can be read back, so that receipts are understood by a host
 * that only has the agent's output; a uuid is used as it is, anything else by its hash.
 */
export function steerUuid(steerId: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(steerId)) return steerId
  if (!/^[\x21-\x7e]{1,13}$/.test(steerId)) return uuidFrom(steerId)
  const bytes = [steerMark, steerId.length, ...Array.from(steerId, (character) => character.charCodeAt(0))]
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return uuidOf(hex.padEnd(30, '0'))
}

/** The id that stands in a uuid of ours, if one does. */
export function steerIdIn(uuid: string): string | undefined {
  const hex = uuid.replaceAll('-', '')
  const digits = hex.slice(0, 12) + hex.slice(13, 16) + hex.slice(17)
  const bytes = (digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16))
  const [mark, length = 0, ...rest] = bytes
  const id = String.fromCharCode(...rest.slice(0, length))
  return mark === steerMark && steerUuid(id) === uuid ? id : undefined
}

/** The first byte of a uuid that holds a steer's id. */
const steerMark = 0xc5

/** Thirty hexadecimal digits as a uuid of version 4. */
function uuidOf(digits: string): string {
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(12, 15)}-8${digits.slice(15, 18)}-${digits.slice(18)}`
}

/** The same name gives the same uuid, so that a frame sent again after a crash is known to the CLI. FNV-1a, four times. */
export function uuidFrom(name: string): string {
  const words = [1, 2, 3, 4].map((round) => {
    let hash = Math.imul(round, 0x9e3779b1)
    for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    return ((hash ^ (hash >>> 13)) >>> 0).toString(16).padStart(8, '0')
  })
  return uuidOf(words.join('').slice(0, 30))
}

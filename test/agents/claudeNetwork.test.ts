// Who is called: nobody but the model's address. Seen in the kernel's own tables of sockets, with no proxy that would
// catch the rest, for every process of a child from its dispatch to its result.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { currentAttempt } from '../../src/core/child'
import { bash, ClaudeStage } from './claudeStage'

let claude: ClaudeStage
beforeEach(async () => {
  claude = await ClaudeStage.make()
})
afterEach(() => claude.clear())

/** Inodes of the sockets a process holds. */
function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const inode = /^socket:\[(\d+)\]$/.exec(readlink(`/proc/${pid}/fd/${fd}`))?.[1]
      return inode === undefined ? [] : [inode]
    })
  } catch {
    return []
  }
}

function readlink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** The far end of every connected socket, by inode: hexadecimal address and port. */
function connections(): Map<string, string> {
  const found = new Map<string, string>()
  for (const table of ['tcp', 'tcp6', 'udp', 'udp6'])
    for (const line of readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (fields[2] !== undefined && fields[9] !== undefined) found.set(fields[9], `${table} ${fields[2]}`)
    }
  return found
}

/** 127.0.0.0/8 as the kernel writes it, plain or mapped; ::1; and sockets that are connected to nobody. */
const near = /^(tcp|udp)6? ([0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F|0{8}|0{32}):/

it('a child talks to the address of its model and to no other host', async () => {
  const { stage } = claude
  delete stage.variables['HTTPS_PROXY']
  delete stage.variables['HTTP_PROXY']
  claude.script(
    { text: 'I work.', tools: [bash('echo 1')] },
    { text: 'More.', tools: [bash('echo 2')] },
    { text: 'Done.' },
  )
  const model = `:${Number(new URL(claude.models.url).port).toString(16).toUpperCase().padStart(4, '0')}`
  const seen = new Set<string>()
  const known = new Set<string>()
  // Often, and so cheaply: whose a socket is, is asked once, and only of one that matters.
  const look = setInterval(() => {
    const fresh = [...connections()].filter(
      ([inode, far]) => !known.has(inode) && (far.endsWith(model) || !near.test(far)),
    )
    if (fresh.length === 0) return
    const ours = new Set(stage.ps().flatMap(({ pid }) => socketsOf(pid)))
    for (const [inode, far] of fresh) {
      known.add(inode)
      if (ours.has(inode)) seen.add(far)
    }
  }, 2)
  try {
    const id = await stage.detached({ goal: 'Work.', agent: 'claude', autonomy: 'autonomous' })
    const child = await stage.settled(id)
    expect([child.phase, currentAttempt(child)?.exit?.code]).toEqual(['SUCCESS', 0])
  } finally {
    clearInterval(look)
  }
  // What it does see.
  expect([...seen].filter((far) => far.endsWith(model))).toEqual([`tcp 0100007F${model}`])
  expect([...seen].filter((far) => !near.test(far))).toEqual([])
})

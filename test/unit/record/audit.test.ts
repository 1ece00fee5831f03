import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AuditLog, checkAudit } from '../../../src/record/audit'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'))
  path = join(folder, 'audit.jsonl')
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

const now = () => new Date(Date.UTC(2026, 0, 1))
const deed = (what: string) => ({ who: 'person', what, child: 'abc' })

async function written(...whats: string[]): Promise<string[]> {
  const log = await AuditLog.open(path, now)
  for (const what of whats) await log.add(deed(what))
  await log.close()
  return (await readFile(path, 'utf8')).trimEnd().split('\n')
}

test('deeds of several writers, one after the other, make one chain', async () => {
  await written('spawn', 'steer')
  await written('stop')
  expect(await checkAudit(path)).toEqual({ lines: 3, broken: null })
})

test('a changed, removed, inserted or swapped line is named', async () => {
  const lines = await written('spawn', 'steer', 'stop', 'apply')
  const [a, b, c, d] = lines as [string, string, string, string]
  const tampered: Record<string, string[]> = {
    changed: [a, b.replace('steer', 'resume'), c, d],
    removed: [a, c, d],
    inserted: [a, b, b, c, d],
    swapped: [a, c, b, d],
    noise: [a, 'hello', c, d],
    'first removed': [b, c, d],
  }
  const found: Record<string, unknown> = {}
  for (const [name, content] of Object.entries(tampered)) {
    await writeFile(path, `${content.join('\n')}\n`)
    found[name] = (await checkAudit(path)).broken?.line
  }
  expect(found).toEqual({ changed: 2, removed: 2, inserted: 3, swapped: 2, noise: 2, 'first removed': 1 })
})

test('a torn last line is cut, a line says so, and the chain holds', async () => {
  await written('spawn', 'steer')
  await appendFile(path, '{"who":"person","wh')
  const lines = await written('stop')
  expect(lines.map((line) => (JSON.parse(line) as { what: string }).what)).toEqual([
    'spawn',
    'steer',
    'repaired',
    'stop',
  ])
  expect(await checkAudit(path)).toEqual({ lines: 4, broken: null })
})

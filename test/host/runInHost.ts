// Runs the in-host suites in a real VS Code: a server with the test driver, a page that names the extension under
// development and its suites, and the results read back from disk.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { format } from 'node:util'
import { makeProfile, startServer } from '../../scripts/vscode/server.mjs'
import type { VSCode } from '../../scripts/vscode/install.mjs'
import { repository as root } from '../../scripts/system.mjs'
import { makeRepository } from '../e2e/harness/repository.js'
import { makeTestHome } from '../e2e/harness/testHome.js'
import { addSampleExtension, launchBrowser, viewport } from '../e2e/harness/vscodeTest.js'
import type { HostResult } from './index.js'

/** Where the bundled suites lie: inside the repository, so that mocha is found from there. */
export const hostBundle = path.join(root, 'out/host')

/** The whole in-host run may take this long. */
const wholeRunMs = 240_000

/** `exit` is what VS Code reported: 0 when `run()` resolved, or why there was none; `output` is the host's console. */
export interface HostRun {
  exit: number | string
  results: HostResult[]
  output: string
}

export async function runInHost(vscode: VSCode): Promise<HostRun> {
  const home = makeTestHome()
  const results = path.join(home.folder, 'results.json')
  const workspace = makeRepository(path.join(home.folder, 'workspace'))
  makeProfile(home.profile)
  addSampleExtension(home.profile)
  const server = await startServer(vscode, {
    profile: home.profile,
    testDriver: true,
    env: { ...home.env, COXSWAIN_HOST_RESULTS: results },
  })
  const browser = await launchBrowser()
  const output: string[] = []
  try {
    const page = await (await browser.newContext({ viewport })).newPage()
    let timer: NodeJS.Timeout | undefined
    const exit = new Promise<number | string>((resolve) => {
      timer = setTimeout(() => resolve(`no end within ${wholeRunMs} ms`), wholeRunMs)
      void page.exposeFunction('codeAutomationExit', resolve)
    })
    await page.exposeFunction('codeAutomationLog', (_type: string, args: unknown[]) => output.push(format(...args)))
    const remote = (file: string) => `vscode-remote://${new URL(server.base).host}${file}`
    await page.goto(
      server.url(workspace.folder, [
        ['extensionDevelopmentPath', remote(root)],
        ['extensionTestsPath', remote(path.join(hostBundle, 'index.js'))],
      ]),
    )
    const code = await exit
    clearTimeout(timer)
    return {
      exit: code,
      results: existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as HostResult[]) : [],
      output: output.join('\n'),
    }
  } finally {
    await browser.close()
    await server.stop()
    home.remove()
  }
}

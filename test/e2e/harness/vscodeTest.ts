// The test function of this suite: gives each test, and each further try of one, a home of its own with a VS Code server
// on a fresh profile, the packed extension in it, a repository and a window; nothing that one leaves can meet another. A
// test that fails leaves a picture, the logs and the records, and says where.
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import { inject, test as plain, type RunnerTestCase } from 'vitest'
import { findChromium, repository as repositoryFolder } from '../../../scripts/system.mjs'
import { installVsix, makeProfile, quietSettings, startServer, type Server } from '../../../scripts/vscode/server.mjs'
import { AnthropicServer } from '../../agents/models/anthropic.js'
import { makeRepository, type Repository } from './repository.js'
import { makeTestHome, type TestHome } from './testHome.js'
import { Workbench, outFolder } from './workbench.js'

const chromiumFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts the system's Chromium without a display. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: findChromium() ?? '/usr/bin/chromium', headless: true, args: chromiumFlags })

/** A window that fits the pictures of the README. */
export const viewport = { width: 1280, height: 800 }

/** Of vitest's task: how this try stands. */
type Task = Pick<RunnerTestCase, 'name' | 'result'>

interface FileOptions {
  /** false: folders open in Restricted Mode until trusted. */
  trust?: boolean
  /** User settings on top of the quiet ones. */
  settings?: Record<string, unknown>
  /** Added to the environment of the server and of the extension host. */
  env?: (home: TestHome, models: AnthropicServer) => NodeJS.ProcessEnv
  /** Installs the extension of test/fixtures/sample-extension too, which uses ours. */
  sample?: boolean
}

interface FileFixtures {
  browser: Browser
}

interface TestFixtures {
  /** Where all of this test lives on disk. */
  home: TestHome
  /** Answers the real agents; at the end of a test that passed, an unscripted request or an unused reply fails it. */
  models: AnthropicServer
  server: Server
  /** With one commit. */
  repository: Repository
  /** A window on the repository, ready for use, in a browser context of its own (state of VS Code's web client is per context). */
  workbench: Workbench
}

/** A test function for one file; call it once per file. */
export function vscodeTest({ trust = true, settings = {}, env = () => ({}), sample = false }: FileOptions = {}) {
  return plain.extend<{ $file: FileFixtures; $test: TestFixtures }>({
    home: async ({}, use) => {
      const home = makeTestHome()
      await use(home)
      home.remove()
    },
    models: async ({ task }, use) => {
      const models = await AnthropicServer.start()
      await use(models)
      await (hasFailed(task) ? models.close() : models.finish())
    },
    server: async ({ home, models }, use) => {
      makeProfile(home.profile, { ...quietSettings, ...settings })
      const whole = { ...home.env, ...env(home, models) }
      if (sample) addSampleExtension(home.profile)
      installVsix(inject('vscode'), home.profile, inject('vsix'), whole)
      const server = await startServer(inject('vscode'), { profile: home.profile, trust, env: whole })
      await use(server)
      await server.stop()
    },
    browser: [
      async ({}, use) => {
        const browser = await launchBrowser()
        await use(browser)
        await browser.close()
      },
      { scope: 'file' },
    ],
    repository: async ({ home }, use) => {
      await use(makeRepository(path.join(home.folder, 'repository')))
    },
    workbench: async ({ home, server, browser, repository, task }, use) => {
      const context = await browser.newContext({ viewport })
      const workbench = new Workbench(await context.newPage(), server)
      const said: string[] = []
      workbench.page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`))
      try {
        await workbench.open(repository.folder)
        await use(workbench)
      } finally {
        const told = (error: unknown): void => console.error(error)
        if (hasFailed(task)) await keepEvidence(task, workbench, home, said).catch(told)
        await context.close()
      }
    },
  })
}

/** Before anything else is installed: VS Code takes up by itself what lies in a folder of extensions it has never seen. */
export function addSampleExtension(profile: string): void {
  const sample = path.join(repositoryFolder, 'test/fixtures/sample-extension')
  cpSync(sample, path.join(profile, 'ext/coxswain-tests.sample-0.0.1'), { recursive: true })
}

const hasFailed = ({ result }: Task): boolean => result?.state !== 'pass'

/** What a failed try leaves to look at. */
async function keepEvidence({ name, result }: Task, workbench: Workbench, home: TestHome, said: string[]) {
  const again = result?.retryCount ? `-try-${result.retryCount + 1}` : ''
  const folder = path.join(outFolder, `${name.replace(/\W+/g, '-').slice(0, 80)}${again}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await workbench.page.screenshot({ path: path.join(folder, 'window.png') })
  copyFileSync(workbench.server.log, path.join(folder, 'server.log'))
  for (const log of workbench.server.logs('exthost')) {
    copyFileSync(log, path.join(folder, path.relative(workbench.server.profile, log).replaceAll('/', '_')))
  }
  writeFileSync(path.join(folder, 'console.log'), said.join('\n'))
  const filter = (file: string): boolean => statSync(file).isFile() || statSync(file).isDirectory()
  if (existsSync(home.store)) cpSync(home.store, path.join(folder, 'store'), { recursive: true, filter })
  console.error(`"${name}" failed; a picture of its window, its logs and its records: ${folder}`)
}

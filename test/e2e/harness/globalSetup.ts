// Once per run: a VS Code to drive, and the extension packed as people get it.
import type { TestProject } from 'vitest/node'
import { packageExtension } from '../../../scripts/package.mjs'
import { needPrograms } from '../../../scripts/system.mjs'
import { installVSCode, type VSCode } from '../../../scripts/vscode/install.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    vscode: VSCode
    vsix: string
  }
}

export default function setup(project: TestProject): void {
  needPrograms(['git', 'chromium'], 'run the end-to-end tests')
  project.provide('vscode', installVSCode())
  project.provide('vsix', packageExtension())
}

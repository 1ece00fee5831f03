// The extension as VS Code itself sees it.
import { suite, test } from 'mocha'
import assert from 'node:assert/strict'
import * as vscode from 'vscode'

suite('activation', () => {
  test('the extension is known and activates', async () => {
    const extension = vscode.extensions.getExtension('coxswain.coxswain')
    assert.ok(extension, 'VS Code does not list coxswain.coxswain')
    await extension.activate()
    assert.equal(extension.isActive, true)
  })
})

// What others than the person may do in a window: another extension through the API, a chat through the tool.
import { suite, test } from 'mocha'
import assert from 'node:assert/strict'
import * as vscode from 'vscode'

async function invoke(input: object): Promise<string[]> {
  const { content } = await vscode.lm.invokeTool('delegate_task', { input, toolInvocationToken: undefined })
  return content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : ''))
}

suite('parents', () => {
  test('another extension launches a child, waits for its result and finds it again by its handle', async () => {
    const done: any = await vscode.commands.executeCommand('coxswainSample.delegate', 'List the files', 'job-1')
    assert.equal(done.error, undefined, JSON.stringify(done))
    assert.deepEqual(
      { completed: done.waited.completed, phase: done.waited.state.phase, ready: done.result.ready },
      { completed: true, phase: 'SUCCESS', ready: true },
    )
    const repeated: any = await vscode.commands.executeCommand('coxswainSample.delegate', 'Anything', 'job-1')
    assert.deepEqual(repeated.handle, done.handle)
    const again: any = await vscode.commands.executeCommand('coxswainSample.again')
    assert.equal(again.result.result_hash, done.result.result_hash)
    assert.equal(again.strangers.phase, 'UNKNOWN')
  })

  test('a chat has one tool, and sees none of the children of the person or of an extension', async () => {
    assert.ok(vscode.lm.tools.some(({ name }) => name === 'delegate_task'))
    const [text = ''] = await invoke({ action: 'list' })
    const answer = JSON.parse(text)
    assert.deepEqual([answer.action, answer.count], ['list', 0])
    const [refusal = ''] = await invoke({ action: 'steer', subagent_id: 'aaaaaaaaaa', message: 'Open b.js.' })
    assert.equal(JSON.parse(refusal).error.code, 'unknown_child')
  })
})

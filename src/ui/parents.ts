// Everything in a window that lets somebody other than its person dispatch: the chat's tool, the MCP server offered to the
// editor instead of it, and the API of other extensions. Registered at activation, loaded when first used.
import { randomBytes } from 'node:crypto'
import * as path from 'node:path'
import * as vscode from 'vscode'
import type { CoxswainApi, CoxswainSession } from '../../api/coxswain'
import type { DelegateTask } from '../parent/delegateTask'
import type { ParentsDoor } from '../parent/door'
import type { ParentStore } from '../parent/parentStore'
import type { Refusal } from '../supervisor/commands'
import { chatWish } from './present/chatWish'
import type { Supervision } from './supervision'

/** As the manifest names them. */
const chatToolName = 'delegate_task'
const mcpProviderId = 'coxswain.parents'
const CHAT_SESSION = 'coxswain.chatSession'

/** The store as parents use it, or why there is none: no trust, no folder, no repository. */
async function door(supervision: Supervision): Promise<ParentsDoor | Refusal> {
  const opened = await supervision.open()
  if (opened.kind === 'open') return await opened.coxswain.parents()
  const code = opened.why === 'untrusted' ? 'untrusted' : opened.why === 'failed' ? 'unavailable' : 'repository'
  return { error: { code, message: opened.message } }
}

/** What `activate()` returns. */
export function lifecycleApi(supervision: Supervision): CoxswainApi {
  const session = (extensionId: string, key: string): CoxswainSession => {
    const loaded = import('../parent/lifecycle').then(({ lifecycleSession }) =>
      lifecycleSession(
        () => door(supervision),
        extensionId,
        key,
        // Not while it is being opened or was refused: asking then would only be refused again.
        (listener) =>
          supervision.onDidChange((child) => {
            if (child !== null) return
            if (supervision.state === 'idle' || supervision.state === 'open') listener()
          }),
      ),
    )
    return {
      launch: async (request) => (await loaded).launch(request),
      status: async (handle) => (await loaded).status(handle),
      wait: async (handle, timeoutMs) => (await loaded).wait(handle, timeoutMs),
      cancel: async (handle, reason) => (await loaded).cancel(handle, reason),
      result: async (handle, round) => (await loaded).result(handle, round),
      steer: async (handle, message) => (await loaded).steer(handle, message),
      resume: async (handle, message) => (await loaded).resume(handle, message),
      reconnect: async (handle) => (await loaded).reconnect(handle),
      onDidChange: (listener) => {
        const following = loaded.then((real) => real.onDidChange(listener))
        return { dispose: () => void following.then((real) => real.dispose()) }
      },
    }
  }
  return Object.freeze({ contractVersion: 1, session })
}

/** The chat's tool or the MCP server, as the setting says: never both, or one chat would be two parents. */
export function offerToChat(context: vscode.ExtensionContext, supervision: Supervision): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>()
  let tool: vscode.Disposable | null = null
  const offer = (): void => {
    tool?.dispose()
    tool = access() === 'tool' ? vscode.lm.registerTool(chatToolName, new ChatTool(context, supervision)) : null
    changed.fire()
  }
  offer()
  // After a reload the chat is there, whether or not it calls again: its children have not lost their parent.
  const beThere = async (): Promise<void> => {
    const session = context.workspaceState.get<string>(CHAT_SESSION)
    if (session === undefined || supervision.state !== 'open' || access() !== 'tool') return
    const opened = await door(supervision)
    if (!('error' in opened)) await chatParent(opened, session)
  }
  return vscode.Disposable.from(
    changed,
    supervision.onDidChange((child) => {
      if (child === null) beThere().catch(() => undefined)
    }),
    { dispose: () => void tool?.dispose() },
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('coxswain.chatAccess')) offer()
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    vscode.lm.registerMcpServerDefinitionProvider(mcpProviderId, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () => {
        const folder = supervision.folder()
        if (access() !== 'mcp' || folder === null || !vscode.workspace.isTrusted) return []
        const server = new vscode.McpStdioServerDefinition(
          'Coxswain',
          process.execPath,
          [path.join(context.extensionPath, 'dist', 'cli.js'), 'mcp', '--repo', folder],
          { ELECTRON_RUN_AS_NODE: '1', COXSWAIN_PARENT_SESSION: chatSession(context) },
          String((context.extension.packageJSON as { version?: unknown }).version),
        )
        server.cwd = vscode.Uri.file(folder)
        return [server]
      },
    }),
  )
}

function access(): string {
  return vscode.workspace.getConfiguration('coxswain').get<string>('chatAccess', 'tool')
}

/** All chats of a workspace are one parent: the editor does not tell us which one is asking. It is who it was after a reload. */
function chatSession(context: vscode.ExtensionContext): string {
  const known = context.workspaceState.get<string>(CHAT_SESSION)
  if (known !== undefined) return known
  const made = `chat-${randomBytes(12).toString('hex')}`
  void context.workspaceState.update(CHAT_SESSION, made)
  return made
}

async function chatParent(opened: ParentsDoor, session: string): Promise<ParentStore> {
  const { sessionOfWords } = await import('../supervisor/parentSession')
  return opened.parent(sessionOfWords(opened.secret, 'chat', [session]))
}

class ChatTool implements vscode.LanguageModelTool<object> {
  private tool: Promise<DelegateTask> | undefined

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly supervision: Supervision,
  ) {}

  async prepareInvocation({
    input,
  }: vscode.LanguageModelToolInvocationPrepareOptions<object>): Promise<vscode.PreparedToolInvocation> {
    const { readWish } = await import('../parent/wish')
    const { doing, confirm } = chatWish(readWish(input), (id) => this.supervision.view?.get(id)?.child.title ?? id)
    if (confirm === undefined) return { invocationMessage: doing }
    const message = new vscode.MarkdownString()
    for (const line of confirm.lines) message.appendText(line).appendMarkdown('\n\n')
    return { invocationMessage: doing, confirmationMessages: { title: confirm.title, message } }
  }

  async invoke(
    { input }: vscode.LanguageModelToolInvocationOptions<object>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const { asTexts } = await import('../parent/delegateTask')
    const told = await (await this.delegateTask()).call(input)
    // What the editor no longer hands on was not taken in.
    if (token.isCancellationRequested) told.lost()
    else told.written()
    return new vscode.LanguageModelToolResult(asTexts(told).map((text) => new vscode.LanguageModelTextPart(text)))
  }

  private delegateTask(): Promise<DelegateTask> {
    return (this.tool ??= import('../parent/delegateTask').then(
      ({ DelegateTask }) =>
        new DelegateTask(async () => {
          const opened = await door(this.supervision)
          return 'error' in opened ? opened : await chatParent(opened, chatSession(this.context))
        }),
    ))
  }
}

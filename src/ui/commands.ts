// Every command of the palette, the tree and the panel's title, each from the file of its kind.
import * as vscode from 'vscode'
import { adoptingCommands } from './adopting'
import { answeringCommands } from './answering'
import { attachCommands } from './attachSteer'
import { careCommands } from './care'
import { checkAgentsCommands } from './checkAgents'
import { repositoryCommands } from './chooseRepository'
import { commandRoom, type CommandParts } from './commandRoom'
import { comparisonCommands } from './comparing'
import { connectParent } from './connectParent'
import { endedWorkCommands } from './endedWork'
import { filteringCommands } from './filtering'
import { fixingCommands } from './fixing'
import { markingCommands } from './marking'
import { newChildCommands } from './newChild'
import { commentCommands } from './review/comments'
import { pullRequestCommands } from './review/pullRequest'
import { searchCommands } from './searchTranscripts'
import { showingCommands } from './showing'
import { steeringCommands } from './steering'
import { subtreeCommands } from './subtree'
import { worktreeCommands } from './worktrees'

export function registerCommands(parts: CommandParts): vscode.Disposable {
  const registered: vscode.Disposable[] = []
  const room = commandRoom(parts, registered)
  const { command } = room
  newChildCommands(room)
  steeringCommands(room)
  answeringCommands(room)
  endedWorkCommands(room)
  showingCommands(room)
  filteringCommands(room)
  markingCommands(room)
  checkAgentsCommands(room)
  command('connectParent', () => connectParent(parts.dist))
  command('openWalkthrough', async () => {
    await vscode.commands.executeCommand('workbench.action.openWalkthrough', 'coxswain.coxswain#start', false)
  })
  searchCommands(room)
  comparisonCommands(room)
  subtreeCommands(room)
  adoptingCommands(room)
  repositoryCommands(room)
  worktreeCommands(room)
  pullRequestCommands(room)
  careCommands(room)
  attachCommands(room)
  registered.push(fixingCommands(room), commentCommands(room))
  return vscode.Disposable.from(...registered)
}

// Asks an address whether it answers, for url_ok: only this machine, or hosts a person has allowed. Redirects are not
// followed, names that mean this machine are not looked up, and nothing of the answer is kept but its status.
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { plainLine } from '../core/plainText'
import type { Finding } from './content'
import type { Limits } from './world'

export async function judgeUrl(address: string, status: number | undefined, limits: Limits): Promise<Finding> {
  const shown = plainLine(address, 200)
  let url: URL
  try {
    url = new URL(address)
  } catch {
    return { result: 'FAIL', reason: `${shown} is no address`, recoverable: true }
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { result: 'FAIL', reason: `${shown} is neither http nor https`, recoverable: false }
  if (url.username !== '' || url.password !== '')
    return { result: 'FAIL', reason: `${shown} carries a name or password`, recoverable: false }
  const loopback = isLoopback(url.hostname)
  if (!loopback && !limits.allowedHosts.some((host) => host === url.hostname || host === url.host))
    return {
      result: 'UNKNOWN',
      reason: `${url.host} is neither this machine nor an allowed host; it was not asked`,
      recoverable: false,
    }
  const answer = await ask(url, loopback, limits.urlMs)
  if (typeof answer === 'string')
    return { result: loopback ? 'FAIL' : 'UNKNOWN', reason: `${shown} does not answer: ${answer}`, recoverable: true }
  const good = status === undefined ? answer >= 200 && answer < 300 : answer === status
  const wanted = status === undefined ? '' : `, wanted ${status}`
  return {
    result: good ? 'PASS' : 'FAIL',
    reason: `${shown} answered ${answer}${good ? '' : wanted || ', no success'}`,
    recoverable: true,
  }
}

/** 127.0.0.0/8, ::1 and localhost, in the one spelling URL gives them. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
}

/** No resolver may say that this machine is another. */
const thisMachine: LookupFunction = (_hostname, options, callback) => {
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  if (options.all === true) callback(null, addresses)
  else callback(null, '127.0.0.1', 4)
}

function ask(url: URL, loopback: boolean, ms: number): Promise<number | string> {
  return new Promise((resolve) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method: 'GET',
      agent: false,
      signal: AbortSignal.timeout(ms),
      headers: { accept: '*/*' },
      ...(loopback ? { lookup: thisMachine, autoSelectFamily: true } : {}),
    })
    request.once('response', (response) => {
      resolve(response.statusCode ?? 'it sent no status')
      response.destroy()
    })
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve(
        error.name === 'AbortError' || error.name === 'TimeoutError'
          ? `nothing came within ${ms / 1000} s`
          : (error.code ?? error.message),
      ),
    )
    request.end()
  })
}

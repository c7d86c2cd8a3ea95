// Talks to hob as OpenAI's own client for Node does. Arguments: the folder with the package openai, the base URL, the token.
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'

const [folder, baseURL, apiKey] = process.argv.slice(2)
const { OpenAI, APIUserAbortError, AuthenticationError, BadRequestError, InternalServerError, NotFoundError } = await import(pathToFileURL(folder + '/index.mjs'))
const client = new OpenAI({ baseURL, apiKey })
const ask = (content, more = {}, options = {}) => client.chat.completions.create({ model: 'hob', messages: [{ role: 'user', content }], ...more }, options)

// The list of models.
const names = []
for await (const model of await client.models.list()) names.push(model.id)
assert.deepEqual(names, ['hob'])
await assert.rejects(client.models.retrieve('gpt-5'), NotFoundError)

// An answer as a whole, and one in pieces.
const whole = await ask('hello')
assert.equal(whole.choices[0].message.content, 'you said: hello')
assert.equal(whole.choices[0].finish_reason, 'stop')
assert.ok(whole.usage.total_tokens > 0)
const streamed = async (content, user) => {
  const stream = await ask(content, { stream: true, user, stream_options: { include_usage: true } })
  let text = '', finish = '', usage
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    finish ||= chunk.choices[0]?.finish_reason ?? ''
    usage = chunk.usage ?? usage
  }
  assert.equal(finish, 'stop')
  assert.ok(usage.total_tokens > 0)
  return text
}
assert.equal(await streamed('in pieces'), 'you said: in pieces')

// The client's own helper collects a stream.
const runner = client.chat.completions.stream({ model: 'hob', messages: [{ role: 'user', content: 'collected' }] })
assert.equal(await runner.finalContent(), 'you said: collected')

// Many at the same time: each gets its own answer.
const many = Array.from({ length: 12 }, (_, i) => `question ${i}`)
assert.deepEqual(await Promise.all(many.map((text, i) => streamed(text, i % 3 ? `u${i}` : undefined))), many.map((text) => 'you said: ' + text))

// A conversation goes on.
const messages = [{ role: 'user', content: 'one' }]
messages.push((await client.chat.completions.create({ model: 'hob', messages })).choices[0].message, { role: 'user', content: 'two' })
assert.equal((await client.chat.completions.create({ model: 'hob', messages })).choices[0].message.content, 'you said: two')

// The client gives up too early and repeats the request by itself: it is the same turn.
assert.equal((await ask('slowly: repeated', {}, { timeout: 2000, maxRetries: 9 })).choices[0].message.content, 'you said: slowly: repeated')

// Aborts: of a request whose turn has begun, which the end of the input tells, and in the middle of a stream.
const early = new AbortController()
const gone = ask('never: aborted', {}, { signal: early.signal, maxRetries: 0 })
process.stdin.on('end', () => early.abort()).resume()
await assert.rejects(gone, APIUserAbortError)
const cut = await ask('a stream that is cut off in the middle', { stream: true })
for await (const chunk of cut) {
  if (chunk.choices[0]?.delta.content) break // ends the connection
}

// Errors have the classes of the client, and are not repeated in vain.
await assert.rejects(new OpenAI({ baseURL, apiKey: 'hob_wrong' }).models.list(), AuthenticationError)
await assert.rejects(ask('x', { n: 2 }), (e) => e instanceof BadRequestError && e.param === 'n' && e.code === 'unsupported_parameter')
await assert.rejects(ask('x', { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }), (e) => e instanceof BadRequestError && e.param === 'tools')
await assert.rejects(ask('fail'), (e) => e instanceof InternalServerError && e.type === 'server_error')
console.log('passed')

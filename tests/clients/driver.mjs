// What the Node drivers share; driver.py tells the lines that go in and out.

import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';

const [, , modules, text] = process.argv;
const require = createRequire(path.join(path.resolve(modules), 'here.js'));

export const config = JSON.parse(text);
export const load = (name) => require(name);
export const headers = { Authorization: `Bearer ${config.token}` };

const tell = (id, facts) => process.stdout.write(JSON.stringify({ id, ...facts }) + '\n');

// connect() connects `client`; call(parameters, options) is one tools/call; version() may not be known.
export async function drive({ client, connect, call, version }) {
    const errors = [];
    const running = new Map();
    client.onerror = (error) => errors.push(String(error));

    async function run({ id, tool, arguments: args, progress, timeout, reset }) {
        const told = [];
        const abort = new AbortController();
        const options = { signal: abort.signal, timeout: timeout ?? 60000, resetTimeoutOnProgress: !!reset };
        if (progress) options.onprogress = (p) => told.push(p);
        running.set(id, abort);
        try {
            tell(id, { result: await call({ name: tool, arguments: args }, options), progress: told });
        } catch (error) {
            tell(id, { error: String(error), progress: told });
        }
    }

    const operations = {
        list: async ({ id }) => tell(id, { result: await client.listTools() }),
        call: run,
        cancel: async ({ call }) => running.get(call).abort('enough'),
    };
    await connect();
    tell('connected', { server: client.getServerVersion(), version: version() });
    for await (const line of createInterface({ input: process.stdin })) {
        const request = JSON.parse(line);
        operations[request.op](request).catch((error) => tell(request.id, { error: String(error) }));
    }
    const start = Date.now();
    await client.close();
    tell('closed', { milliseconds: Date.now() - start, errors });
    process.exit(0);
}

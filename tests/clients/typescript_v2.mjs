// The official TypeScript client, version 2. Usage: node typescript_v2.mjs NODE_MODULES CONFIG

import { config, drive, headers, load } from './driver.mjs';

const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');

const transport = config.url
    ? new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers } })
    : new StdioClientTransport({ command: config.command[0], args: config.command.slice(1), stderr: 'inherit' });
const mode = ['legacy', 'auto'].includes(config.mode) ? config.mode : { pin: config.mode };
const client = new Client({ name: 'typescript-v2', version: '1' }, { versionNegotiation: { mode } });

await drive({
    client,
    connect: () => client.connect(transport),
    call: (parameters, options) => client.callTool(parameters, options),
    version: () => client.getNegotiatedProtocolVersion(),
});

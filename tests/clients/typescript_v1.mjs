// The official TypeScript client, version 1. Usage: node typescript_v1.mjs NODE_MODULES CONFIG

import { config, drive, headers, load } from './driver.mjs';

const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');

const transport = config.url
    ? new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers } })
    : new StdioClientTransport({ command: config.command[0], args: config.command.slice(1), stderr: 'inherit' });
const client = new Client({ name: 'typescript-v1', version: '1' });

await drive({
    client,
    connect: () => client.connect(transport),
    call: (parameters, options) => client.callTool(parameters, undefined, options),
    version: () => transport.protocolVersion,
});

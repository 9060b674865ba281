// Speaks JSON-RPC with the language server over its standard input and output; knows nothing of VS Code.
"use strict";

const { spawn } = require("child_process");

class Connection {
  // `onNotification(method, params)` takes what the server sends by itself; `onEnd(reason)` its end.
  constructor(command, onNotification, onEnd) {
    this.waiting = new Map();
    this.lastId = 0;
    this.buffer = Buffer.alloc(0);
    this.onNotification = onNotification;
    this.process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
    this.process.stdout.on("data", (chunk) => this.receive(chunk));
    this.process.stdin.on("error", () => {}); // the end is told by `exit`
    let errors = "";
    this.process.stderr.on("data", (chunk) => { errors = (errors + chunk).slice(-2000); });
    this.process.on("error", (error) => this.end(onEnd, error.message));
    this.process.on("exit", (code) => this.end(onEnd, code ? errors || `exit code ${code}` : ""));
  }

  end(onEnd, reason) {
    for (const { reject } of this.waiting.values()) reject(new Error(reason || "the server has ended"));
    this.waiting.clear();
    onEnd(reason);
  }

  receive(chunk) {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    for (;;) {
      const end = this.buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = /content-length: *(\d+)/i.exec(this.buffer.subarray(0, end).toString("ascii"));
      const start = end + 4;
      const size = length ? Number(length[1]) : 0;
      if (this.buffer.length < start + size) return;
      const message = JSON.parse(this.buffer.subarray(start, start + size).toString("utf8"));
      this.buffer = this.buffer.subarray(start + size);
      this.handle(message);
    }
  }

  handle(message) {
    if (message.method !== undefined) {
      if (message.id !== undefined) this.send({ id: message.id, result: null });
      else this.onNotification(message.method, message.params);
      return;
    }
    const { resolve, reject } = this.waiting.get(message.id) || {};
    this.waiting.delete(message.id);
    if (message.error && reject) reject(new Error(message.error.message));
    else if (resolve) resolve(message.result);
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }), "utf8");
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  request(method, params) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }
}

module.exports = { Connection };

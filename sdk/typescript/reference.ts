/** Prints docs/reference/sdk-typescript.md: what the package offers, out of its sources. */
import ts from "typescript";

const introduction = `# The TypeScript SDK

Every name of the package \`@beeos/sdk\`, out of its sources; [Agents in TypeScript](../how-to/typescript.md) tells how they
work together. This page is generated: change the comments in the sources, then run
\`go test ./test/reference -update\`.
`;

/** What the entries offer, by the source files that it comes from, in the order of the page. */
const sections: Record<string, string[]> = {
  Agents: ["agent", "settings", "define", "schema", "log"],
  "In a handler": ["turn", "message", "attachment", "answer", "ask", "step", "trace", "gateway", "frame"],
  "Serving what you have": ["adapters/serve", "adapters/plain"],
  "Calling agents": ["client/client", "client/agents", "client/tasks", "client/conversations", "client/events", "client/files", "client/approvals", "client/transport", "client/webhook"],
  "Errors and versions": ["errors", "version"],
};

/** What is not exported, since nobody makes one, but is what something exported has or extends. */
const unexported: Record<string, string[]> = {
  settings: ["Place"],
  "client/agents": ["Agents"],
  "client/tasks": ["Tasks"],
  "client/conversations": ["Conversations"],
  "client/files": ["Files"],
  "client/approvals": ["Approvals"],
};

type Declared = ts.ClassDeclaration | ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.FunctionDeclaration | ts.VariableStatement;

/** The declarations of every source file, as they are packed: without bodies, and without what is internal. */
function declareAll(): Map<string, ts.SourceFile> {
  const { config } = ts.readConfigFile("tsconfig.build.json", ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, compilerOptions: { ...config.compilerOptions, stripInternal: true, emitDeclarationOnly: true } }, ts.sys, ".");
  const files = new Map<string, ts.SourceFile>();
  ts.createProgram(fileNames, options).emit(undefined, (path, text) => {
    const name = path.replace(/^.*\bdist\//, "").replace(/\.d\.ts$/, "");
    files.set(name, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  });
  return files;
}

/** The names that the two entries export, by the files that they come from. */
function offeredBy(files: Map<string, ts.SourceFile>): Map<string, string[]> {
  const offered = new Map<string, string[]>();
  for (const [entry, folder] of [["index", ""], ["adapters/index", "adapters/"]] as const) {
    for (const statement of files.get(entry)!.statements) {
      if (!ts.isExportDeclaration(statement) || !statement.exportClause || !ts.isNamedExports(statement.exportClause)) continue;
      const from = folder + (statement.moduleSpecifier as ts.StringLiteral).text.replace(/^\.\/|\.(ts|js)$/g, "");
      offered.set(from, [...(offered.get(from) ?? []), ...statement.exportClause.elements.map((one) => one.name.text)]);
    }
  }
  for (const [file, names] of Object.entries(unexported)) offered.set(file, [...names, ...(offered.get(file) ?? [])]);
  return offered;
}

function findDeclaration(file: ts.SourceFile, name: string): Declared {
  const found = file.statements.find((node) => {
    if (ts.isVariableStatement(node)) return node.declarationList.declarations.some((one) => one.name.getText() === name);
    return "name" in node && (node as ts.DeclarationStatement).name?.text === name;
  });
  if (!found) throw new Error(`reference.ts: ${file.fileName} does not declare ${name}`);
  return found as Declared;
}

function describe(file: ts.SourceFile, name: string): string {
  const node = findDeclaration(file, name);
  const title = `\n### ${name}\n`;
  if (ts.isClassDeclaration(node)) return title + describeClass(node, name);
  const text = node.getText().replace(/^export (declare )?/, "");
  return title + commentOf(node) + code(text);
}

function describeClass(node: ts.ClassDeclaration, name: string): string {
  const [made] = node.members.filter(ts.isConstructorDeclaration);
  const extended = node.heritageClauses?.map((clause) => ` ${clause.getText()}`).join("") ?? "";
  const members = node.members.filter((member) => ts.isMethodDeclaration(member) || ts.isPropertyDeclaration(member) || ts.isGetAccessor(member));
  const shown = members.filter((member) => !ts.isPrivateIdentifier(member.name) && !/^private /.test(member.getText()));
  const fields = shown.filter((member) => !ts.isMethodDeclaration(member));
  const lines = [...fields.map((field) => indented(field)), ...(made && made.parameters.length > 0 ? [indented(made)] : [])];
  const head = commentOf(node) + code(`class ${name}${extended} {\n${lines.join("\n")}${lines.length > 0 ? "\n" : ""}}`);
  const methods = Map.groupBy(shown.filter(ts.isMethodDeclaration), (method) => method.name.getText());
  return head + [...methods].map(([method, forms]) => `\n#### ${name}.${method}\n${forms.map(commentOf).join("")}${code(forms.map(dedented).join("\n"))}`).join("");
}

/** A member with its comment, as it stands in a class. */
function indented(node: ts.Node): string {
  return node.getFullText().replace(/^\n+/, "");
}

/** A member by itself. */
function dedented(node: ts.Node): string {
  return node.getText().replace(/^ {4}/gm, "");
}

/** The comment before a node as Markdown: what is indented is code. */
function commentOf(node: ts.Node): string {
  const text = ts.getJSDocCommentsAndTags(node).map((doc) => doc.getText()).join("\n");
  const lines = text.replace(/^\/\*\*\s?/, "").replace(/\s*\*\/$/, "").split("\n").map((line) => line.replace(/^\s*\* ?/, ""));
  const blocks = lines.join("\n").split(/\n\n/).filter((block) => block.trim());
  return blocks.map((block) => (block.startsWith("    ") ? code(block.replace(/^ {4}/gm, "")) : `\n${escapeAngles(block.trim())}\n`)).join("");
}

/** Angle brackets outside of code are none of HTML's. */
function escapeAngles(text: string): string {
  return text.split("`").map((piece, i) => (i % 2 ? piece : piece.replaceAll("<", "\\<"))).join("`");
}

function code(text: string): string {
  return `\n\`\`\`ts\n${text}\n\`\`\`\n`;
}

function isClass(described: string): boolean {
  return /^class /m.test(described);
}

const files = declareAll();
const offered = offeredBy(files);
const page = [introduction];
for (const [title, names] of Object.entries(sections)) {
  page.push(`\n## ${title}\n`);
  for (const file of names) {
    const described = (offered.get(file) ?? []).map((name) => describe(files.get(file)!, name));
    page.push(...described.sort((a, b) => Number(isClass(b)) - Number(isClass(a))));
    offered.delete(file);
  }
}
if (offered.size > 0) throw new Error(`reference.ts: sections has no place for ${[...offered.keys()].join(", ")}`);
process.stdout.write(page.join(""));

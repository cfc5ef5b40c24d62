package views

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
)

// SnippetModel is what a snippet needs: who connects where, and with which token.
type SnippetModel struct {
	Node   string
	Server string // origin and base path of this server, as nodes reach it
	Token  string // empty: masked
	// Unknown: there is no node yet, the token comes with it.
	Unknown bool
	// Can is NodeRow.Can of the node.
	Can func(code string) bool
}

func (m SnippetModel) may(ctx context.Context, code string) bool {
	return NodeRow{Can: m.Can}.May(ctx, code)
}

const maskedToken = "••••••••••••••••"

// Snippet is one way to connect an instance, ready to paste.
type Snippet struct{ ID, Label, Text string }

// snippets returns all ways.
func (m SnippetModel) snippets() []Snippet {
	token := m.Token
	if token == "" {
		token = maskedToken
	}
	body := quoted(map[string]any{
		"instanceId": "my-instance-1", "version": "1.0.0", "nodeName": m.Node, "accessToken": token,
		"nodeAddress": []string{"http://10.0.0.5:8080"}, "eruptModules": []string{}, "erupts": []string{},
	})
	return []Snippet{
		{"properties", "Properties", strings.Join([]string{
			"erupt.cloud-node.nodeName=" + property(m.Node),
			"erupt.cloud-node.accessToken=" + property(token),
			"erupt.cloud-node.serverAddresses[0]=" + m.Server,
			"erupt.cloud-node.heartbeatTime=15000",
		}, "\n")},
		{"yaml", "YAML", strings.Join([]string{
			"erupt:", "  cloud-node:", "    node-name: " + quoted(m.Node), "    access-token: " + quoted(token),
			"    server-addresses:", "      - " + quoted(m.Server), "    heartbeat-time: 15000",
		}, "\n")},
		{"go", "Go", strings.Join([]string{
			"agent, err := nodeagent.New(nodeagent.Config{",
			"\tNodeName:        " + strconv.Quote(m.Node) + ",", "\tAccessToken:     " + strconv.Quote(token) + ",",
			"\tServerAddresses: []string{" + strconv.Quote(m.Server) + "},", "})", "if err != nil {", "\tlog.Fatal(err)", "}",
			"err = agent.Serve(ctx, &http.Server{Addr: \":8081\"}) // Handler: yours, for everything else",
		}, "\n")},
		{"sidecar", "Sidecar", strings.Join([]string{
			"EC_NODE_TOKEN=" + shell(token) + " sidecar --name " + shell(m.Node) + " \\", "  --servers " + shell(m.Server) + " \\",
			"  --listen :9080 --upstream http://127.0.0.1:8000",
		}, "\n")},
		{"curl", "curl", strings.Join([]string{
			"curl -X POST " + shell(m.Server+"/erupt-cloud-api/register-node") + " \\",
			"  -H 'Content-Type: application/json' \\", "  -d " + shell(body),
		}, "\n")},
	}
}

// quoted writes v as JSON, whose texts are texts of YAML too.
func quoted(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `""` // texts and lists of texts always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// shell quotes s for a POSIX shell.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// property escapes a value for a Java properties file.
func property(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
}

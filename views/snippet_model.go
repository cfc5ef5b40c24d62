package views

import (
	"encoding/json"
	"strings"
)

// SnippetModel is what a snippet needs: who connects where, and with which token.
type SnippetModel struct {
	Node   string
	Server string // origin and base path of this server, as nodes reach it
	Token  string // empty: masked
	// Missing: the viewer may not see the token.
	Missing bool
	// Unknown: there is no node yet, the token comes with it.
	Unknown bool
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
	yaml, _ := json.Marshal(m.Node) // a JSON string is a YAML string
	yamlToken, _ := json.Marshal(token)
	yamlServer, _ := json.Marshal(m.Server)
	body, _ := json.Marshal(map[string]any{
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
			"erupt:", "  cloud-node:", "    node-name: " + string(yaml), "    access-token: " + string(yamlToken),
			"    server-addresses:", "      - " + string(yamlServer), "    heartbeat-time: 15000",
		}, "\n")},
		{"go", "Go", strings.Join([]string{
			"agent, err := nodeagent.New(nodeagent.Options{",
			"\tNode:    " + string(yaml) + ",", "\tToken:   " + string(yamlToken) + ",",
			"\tServers: []string{" + string(yamlServer) + "},", "\tPort:    8080,", "})",
			"// serve agent.Guard(yourHandler) on that port, and beside it:", "err = agent.Run(ctx)",
		}, "\n")},
		{"sidecar", "Sidecar", strings.Join([]string{
			"EC_NODE_NAME=" + shell(m.Node) + " \\", "EC_NODE_ACCESS_TOKEN=" + shell(token) + " \\",
			"EC_NODE_SERVER_ADDRESSES=" + shell(m.Server) + " \\", "EC_NODE_TARGET=http://127.0.0.1:8080 \\", "  sidecar",
		}, "\n")},
		{"curl", "curl", strings.Join([]string{
			"curl -X POST " + shell(m.Server+"/erupt-cloud-api/register-node") + " \\",
			"  -H 'Content-Type: application/json' \\", "  -d " + shell(string(body)),
		}, "\n")},
	}
}

// shell quotes s for a POSIX shell.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// property escapes a value for a Java properties file.
func property(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
}

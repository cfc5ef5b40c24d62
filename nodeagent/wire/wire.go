// Package wire holds the words of the node protocol: JSON shapes, paths and header names that server and node share.
package wire

import "encoding/json"

// Paths on the server, below its base path.
const (
	ServerAPI       = "/erupt-cloud-api"
	RegisterPath    = ServerAPI + "/register-node"
	RemovePath      = ServerAPI + "/remove-instance-node"
	NodeConfigPath  = ServerAPI + "/node-config/"       // + node name
	GroupConfigPath = ServerAPI + "/node-group-config/" // + node name
	EffectivePath   = ServerAPI + "/effective-config/"  // + node name; ours, with ETag
	PowerPath       = ServerAPI + "/erupt-power"        // ?nodeName=&eruptName=
	UserInfoPath    = ServerAPI + "/userinfo/"          // + node name
	PermissionPath  = NodeAPI + "/erupt-permission/"    // + code
)

// Form fields of RemovePath. Drain and Instance are ours: with Drain, a time in milliseconds, the instance leaves the routing
// but stays in sight until it says goodbye with a second call without Drain, or that time is over.
const (
	FormNode      = "nodeName"
	FormToken     = "accessToken"
	FormLocations = "locations" // comma separated
	FormDrain     = "drain"
	FormInstance  = "instanceId"
)

// Paths on a node, below each of its locations.
const (
	NodeAPI       = "/erupt-api"
	HealthPath    = "/node-health"
	ProbePath     = "/node-probe" // our agents' own probe path, same answer as HealthPath (B9)
	LogPath       = NodeAPI + "/tool/erupt-log"
	LogPathSeed   = NodeAPI + "/tool/log" // asked when LogPath answers 404
	AttachmentDir = "/erupt-attachment"
)

// Header names. HTTP does not care about their case; these are the spellings that erupt uses.
const (
	HeaderAccessToken = "Access-Token"
	HeaderToken       = "token"
	HeaderErupt       = "erupt"
	HeaderParent      = "eruptParent"
	HeaderUser        = "user" // standard base64 of User as JSON
	HeaderLang        = "lang"
	HeaderLink        = "link"
	HeaderDrill       = "drill"
	HeaderDrillValue  = "drillValue"
	HeaderDrillSource = "drillSourceErupt"
	HeaderRequestID   = "X-Request-Id"

	// HeaderHeartbeat and HeaderConfigRevision answer a registration: the interval that the server wishes, in milliseconds,
	// and the newest revision of the node's effective config.
	HeaderHeartbeat      = "X-Ec-Heartbeat"
	HeaderConfigRevision = "X-Ec-Config-Revision"
	// HeaderNode, HeaderInstance and HeaderAgentVersion answer a probe of our agents, beside the body.
	HeaderNode         = "X-Ec-Node"
	HeaderInstance     = "X-Ec-Instance"
	HeaderAgentVersion = "X-Ec-Agent"
	// HeaderPrecheck marks the error document of a refused registration with the layer that failed: dns, connect, tls, http, identity.
	HeaderLayer = "X-Ec-Layer"
)

// NodeInfo is a registration, and with it a heartbeat (A2).
type NodeInfo struct {
	InstanceID   string              `json:"instanceId"`
	Version      string              `json:"version"`
	NodeName     string              `json:"nodeName"`
	AccessToken  string              `json:"accessToken"`
	NodeAddress  []string            `json:"nodeAddress"`
	EruptModules []string            `json:"eruptModules"`
	Erupts       []string            `json:"erupts"`
	Resources    map[string][]string `json:"resources,omitempty"`
	// Extra keeps fields that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
}

// User is the caller as a node hears of him in HeaderUser.
type User struct {
	UID      int64  `json:"uid"`
	Account  string `json:"account"`
	Name     string `json:"name"`
	TenantID *int64 `json:"tenantId"`
}

// Power is the answer of PowerPath. A missing key means true to a Java node, so all are always written.
type Power struct {
	Add         bool `json:"add"`
	Edit        bool `json:"edit"`
	Delete      bool `json:"delete"`
	Query       bool `json:"query"`
	ViewDetails bool `json:"viewDetails"`
	Export      bool `json:"export"`
	Importable  bool `json:"importable"`
	Print       bool `json:"print"`
	Copy        bool `json:"copy"`
	CellEdit    bool `json:"cellEdit"`
	AI          bool `json:"ai"`
	Comment     bool `json:"comment"`
	Revision    bool `json:"revision"`
}

// UserInfo is the answer of UserInfoPath; org, post and roles are codes.
type UserInfo struct {
	ID         int64    `json:"id"`
	Account    string   `json:"account"`
	Username   string   `json:"username"`
	Org        *string  `json:"org"`
	Post       *string  `json:"post"`
	SuperAdmin bool     `json:"superAdmin"`
	Roles      []string `json:"roles"`
	TenantID   *int64   `json:"tenantId"`
}

// LogLine is one log event; Content may hold ANSI colours and several lines, Num counts from 1 since the node's start.
type LogLine struct {
	Content string `json:"content"`
	Num     int64  `json:"num"`
	// Size is how many bytes the event had where Content is only its beginning; never sent.
	Size int `json:"-"`
}

// Result is the envelope R of erupt 2 (erupt-wire 3.2). Success is absent in answers of 1.x: decide by Status.
type Result struct {
	Data      any     `json:"data"`
	Message   *string `json:"message"`
	Success   bool    `json:"success"`
	Status    string  `json:"status"`    // SUCCESS, ERROR, INFO, WARNING
	PromptWay string  `json:"promptWay"` // DIALOG, MESSAGE, NOTIFY, NONE
	// Fields says what is wrong with which input. Only our nodes send it; others ignore it.
	Fields map[string]string `json:"fields,omitempty"`
}

// The values of Result.Status.
const (
	StatusSuccess = "SUCCESS"
	StatusError   = "ERROR"
	StatusInfo    = "INFO"
	StatusWarning = "WARNING"
)

// The values of Result.PromptWay.
const (
	PromptDialog  = "DIALOG"
	PromptMessage = "MESSAGE"
	PromptNotify  = "NOTIFY"
	PromptNone    = "NONE"
)

// Masked stands for a stored password on its way to a person; sent back unchanged it keeps the stored one.
const Masked = "\u2022\u2022\u2022\u2022\u2022\u2022"

// ErrorBody is what a failed request gets (erupt-wire 1.8).
type ErrorBody struct {
	Timestamp string `json:"timestamp"` // local time without zone, milliseconds
	Path      string `json:"path"`
	Status    int    `json:"status"`
	Error     string `json:"error"`
	Message   string `json:"message"`
}

// TimestampLayout is the layout of ErrorBody.Timestamp and of all moments in rows.
const TimestampLayout = "2006-01-02T15:04:05.000"

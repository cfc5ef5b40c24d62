package console

import (
	"context"

	"eruptcloud/app/access"
	"eruptcloud/app/dict"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/proxy"
)

// Tokens rotate access tokens (fleet.Nodes).
type Tokens interface {
	RotateToken(ctx context.Context, name, by string) (string, error)
	// EndGrace refuses the old token at once. fault.NotFound if none is accepted any more.
	EndGrace(ctx context.Context, name, by string) error
	// Grace reports from memory whether an older token is still accepted.
	Grace(name string) (fleet.Grace, bool)
	// TokenAge says from memory which token has this SHA-256 digest in hex, as instances keep it.
	TokenAge(name, digest string) fleet.TokenAge
}

// Drains take instances out of routing until they have left (fleet.Drains).
type Drains interface {
	// Start returns the drain; one that is there already stays as it is.
	Start(ctx context.Context, d fleet.Drain) (fleet.Drain, error)
	// End calls a drain off. fault.NotFound if there is none.
	End(ctx context.Context, node, instance, by string) error
	Of(ctx context.Context, node string) ([]fleet.Drain, error)
	// Draining answers from memory.
	Draining(node, instance string) (fleet.Drain, bool)
}

// Refusals are nodes whose beats are refused, from memory (fleet.Refusals).
type Refusals interface {
	Of(node string) []fleet.Refusal
	All() []fleet.Refusal
}

// InFlight is what an instance still works on, through all replicas.
type InFlight = fleet.InFlight

// Loads tell what instances work on.
type Loads interface {
	// InFlight sums over all replicas what the locations of an instance work on.
	InFlight(node string, locations []string) InFlight
}

// Traces are the last requests of nodes and dry runs (proxy.Proxy).
type Traces interface {
	// Traces returns the last requests of a node through this process, the newest first.
	Traces(node string, limit int) []proxy.Trace
	// Explain decides like a request would be decided, and sends nothing. as is the session's token.
	Explain(ctx context.Context, as, method, path, erupt, parent string) proxy.Trace
}

// History is what happened to nodes (history.History).
type History interface {
	// Record never blocks.
	Record(e history.Event)
	List(ctx context.Context, f history.Filter) ([]history.Event, int, error)
}

// Orgs are the organisations (access.Orgs).
type Orgs interface {
	// All returns the tree, each before those below it.
	All(ctx context.Context) ([]access.Org, error)
	ByCode(ctx context.Context, code string) (access.Org, error)
	Create(ctx context.Context, n access.NewOrg) (access.Org, error)
	Update(ctx context.Context, code string, p access.OrgPatch) (access.Org, error)
	Delete(ctx context.Context, code string) error
}

// Posts are the positions (access.Posts).
type Posts interface {
	All(ctx context.Context) ([]access.Post, error)
	ByCode(ctx context.Context, code string) (access.Post, error)
	Create(ctx context.Context, n access.NewPost) (access.Post, error)
	Update(ctx context.Context, code string, p access.PostPatch) (access.Post, error)
	Delete(ctx context.Context, code string) error
}

// Dicts are the dictionaries (dict.Dicts).
type Dicts interface {
	List(ctx context.Context, f dict.Filter) ([]dict.Dict, int, error)
	ByCode(ctx context.Context, code string) (dict.Dict, error)
	Create(ctx context.Context, w dict.Wish) (dict.Dict, error)
	Update(ctx context.Context, code string, w dict.Wish) (dict.Dict, error)
	Delete(ctx context.Context, code string) (items int, err error)
	Items(ctx context.Context, code, query string) ([]dict.Item, error)
	Item(ctx context.Context, code string, id int64) (dict.Item, error)
	AddItem(ctx context.Context, code string, w dict.ItemWish) (dict.Item, error)
	UpdateItem(ctx context.Context, code string, id int64, w dict.ItemWish) (dict.Item, error)
	DeleteItem(ctx context.Context, code string, id int64, by string) error
	Import(ctx context.Context, code string, wishes []dict.ItemWish, by string) (dict.Imported, error)
}

// OpenAPIs are the ways in of programs (access.OpenAPIs).
type OpenAPIs interface {
	List(ctx context.Context, f access.OpenAPIFilter) ([]access.OpenAPI, int, error)
	ByAppID(ctx context.Context, appid string) (access.OpenAPI, error)
	Create(ctx context.Context, n access.NewOpenAPI) (access.OpenAPI, string, error)
	Update(ctx context.Context, appid string, p access.OpenAPIPatch) (access.OpenAPI, error)
	NewSecret(ctx context.Context, appid string, by access.Actor) (string, error)
	EndToken(ctx context.Context, appid string, by access.Actor) error
	Delete(ctx context.Context, appid string, by access.Actor) error
	// ActingAs returns how many act as a user.
	ActingAs(ctx context.Context, user int64) (int, error)
	// Sessions returns those that their tokens open, by OpenAPI.ID.
	Sessions(ctx context.Context, of []access.OpenAPI) (map[int64]access.Session, error)
}

// Online are the sessions of everybody (access.Online).
type Online interface {
	List(ctx context.Context, f access.OnlineFilter) (live []access.Session, left int, err error)
	// End ends one session by Session.ID, or all of the account if id is empty.
	End(ctx context.Context, account, id string, by access.Actor) error
}

package e2e

import (
	"strings"
	"sync"

	"eruptcloud/app/access"
)

// statedRights says of each route of the server's own which right it asks for and what it is about: method, pattern, one of
// these codes ("|" between them; "session" for any session, "open" for none or for the access token of a node), subject.
// A page that somebody opens needs what the node's own page needs, which is asked by the proxy.
const statedRights = `
GET    /console                                     open              -
GET    /console/                                    session           -
GET    /console/login                               open              -
POST   /console/login                               open              -
GET    /console/login/picture                       open              -
POST   /console/login/mfa                           open              -
POST   /console/logout                              open              -
POST   /console/look                                open              -
GET    /console/me                                  session           -
POST   /console/me                                  session           -
PUT    /console/me                                  session           -
GET    /console/me/password                         session           -
POST   /console/me/password                         session           -
GET    /console/me/mfa                              session           -
POST   /console/me/mfa/enroll                       session           -
POST   /console/me/mfa/confirm                      session           -
POST   /console/me/mfa/codes                        session           -
POST   /console/me/mfa/unbind                       session           -
POST   /console/me/logout-one                       session           -
POST   /console/me/logout-others                    session           -
POST   /console/me/logout-all                       session           -
GET    /console/events                              session           -
GET    /console/changes                             session           -
GET    /console/palette                             session           list
GET    /console/search                              session           list
GET    /console/nodes                               nodes             list
GET    /console/nodes.csv                           nodes             list
GET    /console/nodes/new                           nodes@ADD         form
POST   /console/nodes                               nodes@ADD         into
POST   /console/nodes/bulk                          nodes@EDIT|manage select
GET    /console/nodes/:node                         nodes             node
GET    /console/nodes/:node/instances               nodes             node
GET    /console/nodes/:node/instances.csv           nodes             node
GET    /console/nodes/:node/pages                   nodes             node
GET    /console/nodes/:node/settings                nodes             node
POST   /console/nodes/:node/settings                nodes@EDIT        node
PUT    /console/nodes/:node/settings                nodes@EDIT        node
POST   /console/nodes/:node/enabled                 nodes@EDIT        node
PUT    /console/nodes/:node/enabled                 nodes@EDIT        node
POST   /console/nodes/:node/delete                  nodes@DELETE      node
POST   /console/nodes/:node/token                   token             node
GET    /console/nodes/:node/instance                nodes             node
GET    /console/nodes/:node/events                  nodes             node
GET    /console/nodes/:node/events/new              nodes             node
GET    /console/nodes/:node/events.csv              nodes             node
GET    /console/nodes/:node/drains                  nodes             node
GET    /console/nodes/:node/arrival                 nodes             node
GET    /console/nodes/:node/route                   nodes             node
GET    /console/requests/:id                        nodes             form
POST   /console/nodes/:node/token/rotate            nodes@EDIT        node
POST   /console/nodes/:node/token/end-grace         nodes@EDIT        node
POST   /console/nodes/:node/drain                   manage            node
POST   /console/nodes/:node/drain/end               manage            node
POST   /console/nodes/:node/hold                    manage            node
PUT    /console/nodes/:node/hold                    manage            node
POST   /console/nodes/:node/hold/lift               manage            node
POST   /console/nodes/:node/instances/remove        manage            node
GET    /console/nodes/:node/log                     log               node
GET    /console/nodes/:node/log/lines               log               node
GET    /console/nodes/:node/log/text                log               node
GET    /console/nodes/:node/config                  nodes             node
POST   /console/nodes/:node/config                  nodes@EDIT        node
PUT    /console/nodes/:node/config                  nodes@EDIT        node
GET    /console/nodes/:node/config/compare          nodes             node
POST   /console/nodes/:node/config/review           nodes@EDIT        node
POST   /console/nodes/:node/config/edit             nodes@EDIT        node
GET    /console/groups                              groups            list
GET    /console/groups.csv                          groups            list
GET    /console/groups/new                          groups@ADD        form
POST   /console/groups                              groups@ADD        into
GET    /console/groups/:group                       groups            group
POST   /console/groups/:group                       groups@EDIT       group
PUT    /console/groups/:group                       groups@EDIT       group
POST   /console/groups/:group/delete                groups@DELETE     group
GET    /console/groups/:group/config                groups            group
POST   /console/groups/:group/config                groups@EDIT       group
PUT    /console/groups/:group/config                groups@EDIT       group
GET    /console/groups/:group/config/compare        groups            group
POST   /console/groups/:group/config/review         groups@EDIT       group
POST   /console/groups/:group/config/edit           groups@EDIT       group
GET    /console/users                               users             -
GET    /console/users.csv                           users             -
GET    /console/users/new                           users@ADD         -
POST   /console/users                               users@ADD         -
GET    /console/users/:account                      users|users@ADD   -
POST   /console/users/:account                      users@EDIT        -
PUT    /console/users/:account                      users@EDIT        -
POST   /console/users/:account/logout               users@EDIT        -
POST   /console/users/:account/lock                 users@EDIT        -
POST   /console/users/:account/password             users@EDIT        -
POST   /console/users/:account/mfa                  users@EDIT        -
POST   /console/users/:account/delete               users@DELETE      -
GET    /console/roles                               roles             -
GET    /console/roles.csv                           roles             -
GET    /console/roles/new                           roles@ADD         -
POST   /console/roles                               roles@ADD         -
GET    /console/roles/:role                         roles|roles@ADD   -
POST   /console/roles/:role                         roles@EDIT        -
PUT    /console/roles/:role                         roles@EDIT        -
POST   /console/roles/:role/delete                  roles@DELETE      -
GET    /console/menus                               menus             -
GET    /console/menus.csv                           menus             -
GET    /console/menus/new                           menus@ADD         -
POST   /console/menus                               menus@ADD         -
GET    /console/menus/:menu                         menus|menus@ADD   -
POST   /console/menus/:menu                         menus@EDIT        -
PUT    /console/menus/:menu                         menus@EDIT        -
POST   /console/menus/:menu/move                    menus@EDIT        -
POST   /console/menus/:menu/delete                  menus@DELETE      -
GET    /console/orgs                                orgs              -
GET    /console/orgs.csv                            orgs              -
GET    /console/orgs/new                            orgs@ADD          -
POST   /console/orgs                                orgs@ADD          -
GET    /console/orgs/:org                           orgs|orgs@ADD     -
POST   /console/orgs/:org                           orgs@EDIT         -
PUT    /console/orgs/:org                           orgs@EDIT         -
POST   /console/orgs/:org/move                      orgs@EDIT         -
POST   /console/orgs/:org/delete                    orgs@DELETE       -
GET    /console/posts                               posts             -
GET    /console/posts.csv                           posts             -
GET    /console/posts/new                           posts@ADD         -
POST   /console/posts                               posts@ADD         -
GET    /console/posts/:post                         posts|posts@ADD   -
POST   /console/posts/:post                         posts@EDIT        -
PUT    /console/posts/:post                         posts@EDIT        -
POST   /console/posts/:post/delete                  posts@DELETE      -
GET    /console/dicts                               dicts             -
GET    /console/dicts.csv                           dicts@EXPORT      -
GET    /console/dicts/new                           dicts@ADD         -
POST   /console/dicts                               dicts@ADD         -
GET    /console/dicts/:dict                         dicts|dicts@ADD   -
POST   /console/dicts/:dict                         dicts@EDIT        -
PUT    /console/dicts/:dict                         dicts@EDIT        -
POST   /console/dicts/:dict/delete                  dicts@DELETE      -
GET    /console/dicts/:dict/items.csv               items@EXPORT      -
POST   /console/dicts/:dict/import                  items@IMPORTABLE  -
POST   /console/dicts/:dict/items                   items@ADD         -
GET    /console/dicts/:dict/items/:item             items|items@ADD   -
POST   /console/dicts/:dict/items/:item             items@EDIT        -
PUT    /console/dicts/:dict/items/:item             items@EDIT        -
POST   /console/dicts/:dict/items/:item/delete      items@DELETE      -
GET    /console/open-api                            openapi           -
GET    /console/open-api.csv                        openapi           -
GET    /console/open-api/new                        openapi@ADD       -
POST   /console/open-api                            openapi@ADD       -
GET    /console/open-api/:appid                     openapi|openapi@ADD -
POST   /console/open-api/:appid                     openapi@EDIT      -
PUT    /console/open-api/:appid                     openapi@EDIT      -
POST   /console/open-api/:appid/secret              openapi@EDIT      -
POST   /console/open-api/:appid/end                 openapi@EDIT      -
POST   /console/open-api/:appid/delete              openapi@DELETE    -
GET    /console/online                              online            -
GET    /console/online.csv                          online@EXPORT     -
POST   /console/online/:account/end                 online@DELETE     -
GET    /console/server-log                          serverlog         -
GET    /console/server-log/lines                    serverlog         -
GET    /console/server-log/text                     serverlog         -
GET    /console/audit                               audit             -
GET    /console/audit.csv                           audit@EXPORT      -
GET    /console/audit/:entry                        audit             -
GET    /console/logins                              audit|logins      -
GET    /console/logins.csv                          audit@EXPORT|logins@EXPORT -
GET    /console/pages                               session           -
GET    /console/pages/:page                         page              page
GET    /console/pages/:page/options                 page              page
GET    /console/pages/:page/record                  page@VIEW_DETAIL|page@EDIT page
POST   /console/pages/:page/record                  page@EDIT         page
GET    /console/pages/:page/new                     page@ADD          page
POST   /console/pages/:page/new                     page@ADD          page
POST   /console/pages/:page/delete                  page@DELETE       page
POST   /console/pages/offer                         menus@ADD         -
POST   /console/pages/:page/offer                   menus@ADD         -
GET    /api/v1/nodes                                nodes             list
POST   /api/v1/nodes                                nodes@ADD         into
GET    /api/v1/nodes/:nodeName                      nodes             node
PATCH  /api/v1/nodes/:nodeName                      nodes@EDIT        node
DELETE /api/v1/nodes/:nodeName                      nodes@DELETE      node
GET    /api/v1/nodes/:nodeName/config               nodes             node
PUT    /api/v1/nodes/:nodeName/config               nodes@EDIT        node
GET    /api/v1/nodes/:nodeName/instances            nodes             node
DELETE /api/v1/nodes/:nodeName/instances/:instanceId manage           node
PUT    /api/v1/nodes/:nodeName/instances/:instanceId/hold manage      node
DELETE /api/v1/nodes/:nodeName/instances/:instanceId/hold manage      node
PUT    /api/v1/nodes/:nodeName/instances/:instanceId/drain manage     node
GET    /api/v1/nodes/:nodeName/instances/:instanceId/drain nodes      node
DELETE /api/v1/nodes/:nodeName/instances/:instanceId/drain manage     node
PUT    /api/v1/nodes/:nodeName/drain                manage            node
GET    /api/v1/nodes/:nodeName/drain                nodes             node
DELETE /api/v1/nodes/:nodeName/drain                manage            node
POST   /api/v1/nodes/:nodeName/token/rotate         nodes@EDIT        node
DELETE /api/v1/nodes/:nodeName/token/old            nodes@EDIT        node
GET    /api/v1/nodes/:nodeName/token-use            nodes             node
GET    /api/v1/nodes/:nodeName/events               nodes             node
GET    /api/v1/events                               nodes             list
GET    /api/v1/nodes/:nodeName/holds                nodes             node
DELETE /api/v1/nodes/:nodeName/holds                manage            node
GET    /api/v1/groups                               groups            list
POST   /api/v1/groups                               groups@ADD        into
GET    /api/v1/groups/:code                         groups            group
PATCH  /api/v1/groups/:code                         groups@EDIT       group
DELETE /api/v1/groups/:code                         groups@DELETE     group
GET    /api/v1/groups/:code/config                  groups            group
PUT    /api/v1/groups/:code/config                  groups@EDIT       group
GET    /api/v1/users                                users             -
POST   /api/v1/users                                users@ADD         -
GET    /api/v1/users/:account                       users             -
PATCH  /api/v1/users/:account                       users@EDIT        -
DELETE /api/v1/users/:account                       users@DELETE      -
GET    /api/v1/roles                                roles             -
POST   /api/v1/roles                                roles@ADD         -
GET    /api/v1/roles/:code                          roles             -
PATCH  /api/v1/roles/:code                          roles@EDIT        -
DELETE /api/v1/roles/:code                          roles@DELETE      -
GET    /api/v1/dicts                                dicts             -
GET    /api/v1/dicts/:code/items                    items             -
GET    /api/v1/menus                                menus             -
POST   /api/v1/menus                                menus@ADD         -
GET    /api/v1/menus/:code                          menus             -
PATCH  /api/v1/menus/:code                          menus@EDIT        -
DELETE /api/v1/menus/:code                          menus@DELETE      -
POST   /erupt-cloud-api/register-node               open              -
POST   /erupt-cloud-api/remove-instance-node        open              -
GET    /erupt-cloud-api/node-config/:node           open              -
GET    /erupt-cloud-api/node-group-config/:node     open              -
GET    /erupt-cloud-api/effective-config/:node      open              -
GET    /erupt-cloud-api/erupt-power                 open              -
GET    /erupt-cloud-api/userinfo/:node              open              -
GET    /erupt-cloud-api/userinfo:node               open              -
GET    /erupt-cloud-api/remove-instance/:node       manage            node
GET    /erupt-cloud-api/erupt-cloud-node-log        log               node
`

// words stand for codes in statedRights.
var words = map[string]string{
	"nodes": access.CodeNodes, "groups": access.CodeGroups, "users": access.CodeUsers, "roles": access.CodeRoles, "menus": access.CodeMenus,
	"orgs": access.CodeOrgs, "posts": access.CodePosts, "dicts": access.CodeDicts, "items": access.CodeDictItems, "openapi": access.CodeOpenAPI, "online": access.CodeOnline, "serverlog": access.CodeServerLog,
	"audit": access.CodeAudit, "logins": access.CodeLogins, "token": access.CodeViewToken, "manage": access.CodeManageNodes, "log": access.CodeNodeLog, "page": "orders.Secret",
}

type statement struct {
	right
	open bool
}

// stated reads statedRights, and adds what erupt's front end asks of the server itself: a session or nothing.
var stated = sync.OnceValue(func() map[string]statement {
	all := map[string]statement{}
	for line := range strings.Lines(statedRights) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		s := statement{open: f[2] == "open"}
		s.subject = subject(f[3])
		if f[2] != "open" && f[2] != "session" {
			for word := range strings.SplitSeq(f[2], "|") {
				name, function, has := strings.Cut(word, "@")
				code := words[name]
				if has {
					code += "@" + function
				}
				s.codes = append(s.codes, code)
			}
		}
		all[f[0]+" "+f[1]] = s
	}
	return all
})

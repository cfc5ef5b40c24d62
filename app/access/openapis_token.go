package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/openapi"
)

// newSecret is like those that erupt makes.
func newSecret() string { return randomText("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 24) }

// hashedMark begins a secret or a token that is kept as its hash: both are long and random, so that a plain hash does.
const hashedMark = "sha256:"

// kept is how the table keeps a secret or a token.
func (o *OpenAPIs) kept(secret string) string {
	if o.plain {
		return secret
	}
	sum := sha256.Sum256([]byte("open api\x00" + secret))
	return hashedMark + hex.EncodeToString(sum[:])
}

// Verify returns the way in with the id if that is its secret. fault.Unauthenticated if one of both is wrong, fault.Forbidden
// if it is disabled or linked to nobody.
func (o *OpenAPIs) Verify(ctx context.Context, appid, secret string) (OpenAPI, error) {
	wrong := fault.New(fault.Unauthenticated, "secret error") // erupt's words, which programs look for
	row, err := o.row(ctx, appid)
	if fault.Is(err, fault.NotFound) {
		return OpenAPI{}, wrong
	} else if err != nil {
		return OpenAPI{}, err
	}
	if !o.isSecret(row.Secret, secret) {
		return OpenAPI{}, wrong
	}
	switch found := openAPIOf(row); {
	case !found.Enabled:
		return OpenAPI{}, fault.New(fault.Forbidden, "the open API %s is disabled", appid)
	case found.Account == "":
		return OpenAPI{}, fault.New(fault.Forbidden, "the open API %s is linked to no user", appid)
	default:
		return found, nil
	}
}

// isSecret compares in the same time whatever is wrong. A database that was adopted and left again holds both forms.
func (o *OpenAPIs) isSecret(kept, secret string) bool {
	want := secret
	if strings.HasPrefix(kept, hashedMark) {
		sum := sha256.Sum256([]byte("open api\x00" + secret))
		want = hashedMark + hex.EncodeToString(sum[:])
	}
	return kept != "" && secret != "" && subtle.ConstantTimeCompare([]byte(kept), []byte(want)) == 1
}

// Began notes the token of a new session as the current one and ends the session before it.
func (o *OpenAPIs) Began(ctx context.Context, appid, token string) error {
	row, err := o.row(ctx, appid)
	if err != nil {
		return err
	}
	if err := o.db.Client.OpenAPI.Update().Where(openapi.ID(row.ID)).SetCurrentToken(o.keptToken(token)).Exec(ctx); err != nil {
		return database.Mapped(err, nil, nil)
	}
	return o.endToken(ctx, row)
}

// keptToken is how the table keeps a token: as it is where another server ends it, else as the ID of its session.
func (o *OpenAPIs) keptToken(token string) string {
	if o.plain {
		return token
	}
	return hashedMark + (&Session{Token: token}).ID()
}

// ByToken returns the way in whose current token that is. fault.NotFound if there is none.
func (o *OpenAPIs) ByToken(ctx context.Context, token string) (OpenAPI, error) {
	none := fault.New(fault.NotFound, "no open API has this token")
	if !tokenLike(token) {
		return OpenAPI{}, none
	}
	row, err := o.db.Client.OpenAPI.Query().Where(openapi.CurrentTokenIn(token, hashedMark+(&Session{Token: token}).ID())).WithUser().
		Order(openapi.ByID()).First(ctx)
	if err != nil {
		return OpenAPI{}, database.Mapped(err, none, nil)
	}
	return openAPIOf(row), nil
}

// EndToken ends the current token. fault.Forbidden unless by may act as the linked user.
func (o *OpenAPIs) EndToken(ctx context.Context, appid string, by Actor) error {
	row, err := o.row(ctx, appid)
	if err != nil {
		return err
	}
	if err := o.mayManage(ctx, by, row); err != nil {
		return err
	}
	return o.end(ctx, row)
}

// end ends the current token of a row and forgets it.
func (o *OpenAPIs) end(ctx context.Context, row *ent.OpenAPI) error {
	if row.CurrentToken == "" {
		return nil
	}
	if err := o.endToken(ctx, row); err != nil {
		return err
	}
	err := o.db.Client.OpenAPI.Update().Where(openapi.ID(row.ID), openapi.CurrentToken(row.CurrentToken)).ClearCurrentToken().Exec(ctx)
	return database.Mapped(err, nil, nil)
}

func (o *OpenAPIs) endToken(ctx context.Context, row *ent.OpenAPI) error {
	id, hashed := strings.CutPrefix(row.CurrentToken, hashedMark)
	switch {
	case row.CurrentToken == "":
		return nil
	case !hashed:
		return o.sessions.Logout(ctx, row.CurrentToken)
	case row.Edges.User == nil:
		return nil // its sessions ended with the user
	}
	if err := o.sessions.End(ctx, row.Edges.User.Account, id); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// Sessions returns the live sessions of ways in, by id: when each began and was last used.
func (o *OpenAPIs) Sessions(ctx context.Context, of []OpenAPI) (map[int64]Session, error) {
	byUser := map[string][]int64{}
	for _, one := range of {
		if one.Token && one.Account != "" {
			byUser[one.Account] = append(byUser[one.Account], one.ID)
		}
	}
	out := map[int64]Session{}
	for account, ids := range byUser {
		live, err := o.sessions.Of(ctx, account)
		if err != nil {
			return nil, err
		}
		if len(live) == 0 {
			continue
		}
		rows, err := o.db.Client.OpenAPI.Query().Where(openapi.IDIn(ids...)).All(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		for _, r := range rows {
			for _, s := range live {
				if r.CurrentToken == s.Token || r.CurrentToken == hashedMark+s.ID() {
					out[r.ID] = s
				}
			}
		}
	}
	return out, nil
}

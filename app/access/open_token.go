package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/openapi"
)

// OpenTokens gives programs a session of the user that their way in is linked to (erupt-wire 3.3). Each way in has one.
type OpenTokens struct {
	apps  *OpenAPIs
	vault Vault
	login *Login
}

// OpenToken is a program's session.
type OpenToken struct {
	Token   string
	Expires time.Time
}

const (
	openTokenStart  = "ER"
	openTokenLength = 24
)

// OfProgram reports whether the session was opened by a program's way in.
func (s *Session) OfProgram() bool {
	return len(s.Token) == len(openTokenStart)+openTokenLength && s.Token[:len(openTokenStart)] == openTokenStart
}

// Create opens a session and ends the one before it, on whatever replica that was made. a needs address and agent. Its errors
// are those of (*OpenAPIs).Verify; fault.Unauthenticated if the user may not work, fault.TooMany after too many wrong secrets from
// that address.
func (o *OpenTokens) Create(ctx context.Context, appid, secret string, a Attempt) (OpenToken, error) {
	a.Account = "open-api " + appid // no account has a space
	limit := o.login.guard.limit()
	if limit.Max > 0 {
		if _, wait, err := o.login.store.CountTry(ctx, o.login.guard.name(a), a.Address, limit); err != nil {
			return OpenToken{}, err
		} else if wait > 0 {
			return OpenToken{}, tooManyFailures(wait)
		}
	}
	app, err := o.apps.Verify(ctx, appid, secret)
	if err != nil {
		return OpenToken{}, err
	}
	if err := o.login.guard.leave(ctx, a); err != nil {
		return OpenToken{}, err
	}
	known, err := o.apps.open(ctx, appid)
	if err != nil {
		return OpenToken{}, err
	}
	row := known.Edges.User
	if err := o.login.admitted(row, a.Address); err != nil {
		return OpenToken{}, err
	}
	minutes := app.Minutes
	if minutes <= 0 {
		minutes = usualMinutes
	}
	life := time.Duration(min(minutes, mostMinutes)) * time.Minute
	keep := max(life-time.Minute, time.Minute) // erupt's own are over a minute before they say
	s, err := o.login.open(ctx, row, openTokenStart+newSecret()[:openTokenLength], keep, a)
	if err != nil {
		return OpenToken{}, err
	}
	if err := o.follow(ctx, known, s.Token, keep); err != nil {
		return OpenToken{}, err
	}
	// A change that was committed meanwhile did not find this token.
	if _, err := o.apps.open(ctx, appid); err != nil {
		return OpenToken{}, errors.Join(err, o.login.sessions.Logout(ctx, s.Token))
	}
	return OpenToken{Token: s.Token, Expires: s.Created.Add(life)}, nil
}

// follow makes a session the one of its way in and ends those before it. Two may be made at once, on two replicas: the vault
// gives each its predecessor, so that the last one remains. row is from before, so its token is an older one in any case: it was
// made by a Java server, or before this one forgot its vault.
func (o *OpenTokens) follow(ctx context.Context, row *ent.OpenAPI, token string, life time.Duration) error {
	key := fmt.Sprintf("open-api:%d", row.ID)
	before, err := o.vault.Swap(ctx, key, token, life)
	if err != nil {
		return err
	}
	if before != "" && before != token {
		if err := o.login.sessions.Logout(ctx, before); err != nil {
			return err
		}
	}
	if err := o.apps.endToken(ctx, row); err != nil {
		return err
	}
	// The table follows the vault: whoever writes last has looked after his write.
	for current := token; ; {
		if err := o.apps.note(ctx, row.ID, current); err != nil {
			return err
		}
		now, err := o.vault.Get(ctx, key)
		if fault.Is(err, fault.NotFound) || err == nil && now == current {
			return nil
		} else if err != nil {
			return err
		}
		current = now
	}
}

// note writes down which token is the current one.
func (o *OpenAPIs) note(ctx context.Context, id int64, token string) error {
	err := o.db.Client.OpenAPI.Update().Where(openapi.ID(id)).SetCurrentToken(o.keptToken(token)).Exec(ctx)
	return database.Mapped(err, nil, nil)
}

// AppOf returns the way in whose live token this is. fault.NotFound if there is none.
func (o *OpenTokens) AppOf(ctx context.Context, token string) (OpenAPI, error) {
	app, err := o.apps.ByToken(ctx, token)
	if err != nil {
		return OpenAPI{}, err
	}
	if _, _, err := o.login.store.Check(ctx, token); fault.Is(err, fault.Unauthenticated) {
		return OpenAPI{}, fault.New(fault.NotFound, "no open API has this token")
	} else if err != nil {
		return OpenAPI{}, err
	}
	return app, nil
}

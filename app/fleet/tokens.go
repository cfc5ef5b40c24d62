package fleet

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/node"
	"eruptcloud/ent/nodeextra"
)

func flag(b bool) dbtype.Flag { return dbtype.Flag(b) }

// Token returns the access token of a node as it is now. Who may see it is the caller's business.
func (n *Nodes) Token(ctx context.Context, name string) (string, error) {
	p, err := n.lookup(ctx, name)
	switch {
	case err != nil:
		return "", database.Mapped(err, noNode(name), nil)
	case p.tokenError != "" && p.token == "":
		return "", fault.New(fault.Unavailable, "the access token of %q cannot be opened; rotate it, or restore the token key", name).
			Because(errors.New(p.tokenError))
	default:
		return p.token, nil
	}
}

// Tokens returns from memory the tokens that are valid for a node, the current one first.
func (n *Nodes) Tokens(name string) []string {
	s := n.snapshot.Load()
	if s == nil || s.nodes[name] == nil {
		return nil
	}
	return s.nodes[name].tokens(n.clock())
}

// rotationPause is how soon after a rotation another one is refused while the token before it is still accepted: two admins at
// once, or a button that was pressed twice, would cut off all running instances, whose token is then the one before the last.
const rotationPause = time.Minute

// RotateToken gives a node another access token and returns it. The one before stays valid for the grace time, so that running
// instances can be restarted one after the other. fault.Conflict right after another rotation.
func (n *Nodes) RotateToken(ctx context.Context, name, by string) (string, error) {
	token := newToken()
	stored, err := n.sealer.Seal(token)
	if err != nil {
		return "", err
	}
	err = n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		extra, err := nodeExtra(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		author, err := n.author(ctx, tx, by)
		if err != nil {
			return err
		}
		now := n.now()
		if extra.OldToken != "" && now.Before(timeOf(extra.OldTokenUntil)) && now.Sub(timeOf(extra.TokenRotated)) < rotationPause {
			return fault.New(fault.Conflict, "%s rotated the token of %q just now; to rotate it again would refuse at once the one that instances still use",
				extra.TokenRotatedBy, name).Retry(rotationPause)
		}
		if err := tx.NodeExtra.Update().Where(nodeextra.ID(extra.ID)).
			SetOldToken(row.AccessToken).SetOldTokenUntil(now.Add(n.grace)).SetTokenRotated(now).SetTokenRotatedBy(by).Exec(ctx); err != nil {
			return err
		}
		return tx.Node.Update().Where(node.ID(row.ID)).SetAccessToken(stored).SetUpdateBy(author).SetUpdateTime(now).Exec(ctx)
	})
	if err != nil {
		return "", database.Mapped(err, noNode(name), nil)
	}
	n.afterWrite(ctx, kindNode, name)
	return token, nil
}

// EndGrace refuses the token before the last rotation at once. fault.NotFound if none is accepted any more.
func (n *Nodes) EndGrace(ctx context.Context, name, by string) error {
	err := n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		extra, err := nodeExtra(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		author, err := n.author(ctx, tx, by)
		if err != nil {
			return err
		}
		now := n.now()
		if extra.OldToken == "" || !now.Before(timeOf(extra.OldTokenUntil)) {
			return fault.New(fault.NotFound, "node %q accepts no older token", name)
		}
		if err := tx.NodeExtra.Update().Where(nodeextra.ID(extra.ID)).ClearOldToken().ClearOldTokenUntil().Exec(ctx); err != nil {
			return err
		}
		return tx.Node.Update().Where(node.ID(row.ID)).SetUpdateBy(author).SetUpdateTime(now).Exec(ctx)
	})
	if err != nil {
		return database.Mapped(err, noNode(name), nil)
	}
	n.afterWrite(ctx, kindNode, name)
	return nil
}

// Grace reports from memory whether the token before the last rotation is still accepted.
func (n *Nodes) Grace(name string) (Grace, bool) {
	s := n.snapshot.Load()
	if s == nil || s.nodes[name] == nil {
		return Grace{}, false
	}
	p := s.nodes[name]
	if p.oldToken == "" || !n.clock().Before(p.oldUntil) {
		return Grace{}, false
	}
	return Grace{Rotated: p.rotated, Account: p.rotatedBy, Until: p.oldUntil}, true
}

// TokenAge says from memory which of a node's tokens has this SHA-256 digest in hex, as instances keep it.
func (n *Nodes) TokenAge(name, digest string) TokenAge {
	s := n.snapshot.Load()
	if s == nil || s.nodes[name] == nil {
		return TokenUnknown
	}
	p := s.nodes[name]
	switch {
	case p.token != "" && hasDigest(p.token, digest):
		return TokenCurrent
	case p.oldToken != "" && n.clock().Before(p.oldUntil) && hasDigest(p.oldToken, digest):
		return TokenOld
	}
	return TokenUnknown
}

func hasDigest(token, digest string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(digest)) == 1
}

// Authenticate returns the profile of a node that shows its access token. fault.NotFound for an unknown name,
// fault.Unauthenticated for a wrong token, unless tokens are not validated at all. It does not ask whether the node is enabled.
func (n *Nodes) Authenticate(ctx context.Context, name, token string) (Node, error) {
	return n.authenticate(ctx, name, token, n.validate)
}

// AuthenticateStrict is Authenticate with the token always compared: config holds secrets.
func (n *Nodes) AuthenticateStrict(ctx context.Context, name, token string) (Node, error) {
	return n.authenticate(ctx, name, token, true)
}

func (n *Nodes) authenticate(ctx context.Context, name, token string, validate bool) (Node, error) {
	s, err := n.current(ctx)
	if err != nil {
		return Node{}, err
	}
	p := s.nodes[name]
	if p == nil {
		// The texts are erupt's own: nodes print them, and their operators search for them.
		if p, err = n.lookup(ctx, name); err != nil {
			return Node{}, database.Mapped(err, fault.New(fault.NotFound, "NodeName: '%s' not found", name), nil)
		}
	}
	if validate && !matchesAny(token, p.tokens(n.clock())) {
		return Node{}, fault.New(fault.Unauthenticated, "%s Access token invalid", name)
	}
	return p.Node, nil
}

// matchesAny compares in a time that depends on neither the token nor the valid ones, hashed so that lengths do not show.
func matchesAny(token string, valid []string) bool {
	shown := sha256.Sum256([]byte(token))
	found := 0
	for _, v := range valid {
		want := sha256.Sum256([]byte(v))
		found |= subtle.ConstantTimeCompare(shown[:], want[:])
	}
	return found == 1
}

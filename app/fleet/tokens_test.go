package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/testbed"
)

func TestAuthenticate(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		f, _ := open(t, db)
		lax, _ := open(t, db, func(o *fleet.Options) { o.ValidateToken = false })
		_, token := mustNode(t, f, fleet.NewNode{Name: "orders"})
		_, chosen := mustNode(t, f, fleet.NewNode{Name: "stock", Token: "my-own-token"})
		db.Client.Node.Create().SetNodeName("tokenless").ExecX(t.Context()) // as an adopted database may have
		tests := map[string]struct {
			f           *fleet.Fleet
			name, token string
			code        fault.Code
			text        string
		}{
			"the right token":         {f, "orders", token, "", ""},
			"a chosen token":          {f, "stock", chosen, "", ""},
			"a wrong token":           {f, "orders", token[:15] + "a", fault.Unauthenticated, "orders Access token invalid"},
			"another node's":          {f, "orders", chosen, fault.Unauthenticated, "orders Access token invalid"},
			"no token":                {f, "orders", "", fault.Unauthenticated, "orders Access token invalid"},
			"none for a node without": {f, "tokenless", "", fault.Unauthenticated, "tokenless Access token invalid"},
			"an unknown node":         {f, "nobody", token, fault.NotFound, "NodeName: 'nobody' not found"},
			"any token when lax":      {lax, "orders", "", "", ""},
			"an unknown one when lax": {lax, "nobody", "", fault.NotFound, "NodeName: 'nobody' not found"},
		}
		for name, tt := range tests {
			n, err := tt.f.Nodes.Authenticate(t.Context(), tt.name, tt.token)
			wantFault(t, name, err, tt.code, tt.text)
			if err == nil && n.Name != tt.name {
				t.Errorf("%s: node %q, want %q", name, n.Name, tt.name)
			}
		}
		_, err := lax.Nodes.AuthenticateStrict(t.Context(), "orders", "x")
		wantFault(t, "strict", err, fault.Unauthenticated, "orders Access token invalid")
		if _, err := lax.Nodes.AuthenticateStrict(t.Context(), "orders", token); err != nil {
			t.Error(err)
		}
		if got, err := f.Nodes.Token(t.Context(), "stock"); err != nil || got != "my-own-token" {
			t.Errorf("Token = %q, %v", got, err)
		}
		_, err = f.Nodes.Token(t.Context(), "nobody")
		wantFault(t, "Token", err, fault.NotFound, "nobody")
	})
}

// TestTokensAreSealed: a dump of the database does not hand out the fleet.
func TestTokensAreSealed(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		f, _ := open(t, db)
		_, token := mustNode(t, f, fleet.NewNode{Name: "n"})
		rotated, err := f.Nodes.RotateToken(t.Context(), "n", "li")
		if err != nil {
			t.Fatal(err)
		}
		row, extra := db.Client.Node.Query().OnlyX(t.Context()), db.Client.NodeExtra.Query().OnlyX(t.Context())
		for _, stored := range []string{row.AccessToken, extra.OldToken} {
			if !strings.HasPrefix(stored, "s1:") || strings.Contains(stored, token) || strings.Contains(stored, rotated) {
				t.Errorf("stored %q, want it sealed", stored)
			}
		}
		// With another key the node is refused, and an admin is told why.
		key, err := fleet.NewSealer([]byte(strings.Repeat("x", 32)))
		if err != nil {
			t.Fatal(err)
		}
		other, _ := open(t, db, func(o *fleet.Options) { o.Sealer = key })
		_, err = other.Nodes.Authenticate(t.Context(), "n", rotated)
		wantFault(t, "Authenticate with another key", err, fault.Unauthenticated, "invalid")
		_, err = other.Nodes.Token(t.Context(), "n")
		wantFault(t, "Token with another key", err, fault.Unavailable, "cannot be opened")
	})
}

func TestRotationHasAGrace(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		_, old := mustNode(t, f, fleet.NewNode{Name: "n"})
		next, err := f.Nodes.RotateToken(t.Context(), "n", "li")
		if err != nil || next == old || len(next) != 16 {
			t.Fatalf("RotateToken = %q, %v; want another token", next, err)
		}
		check := func(when string, want ...string) {
			t.Helper()
			if got := f.Nodes.Tokens("n"); !slices.Equal(got, want) {
				t.Errorf("%s: Tokens = %v, want %v", when, got, want)
			}
			for _, token := range []string{old, next} {
				_, err := f.Nodes.Authenticate(t.Context(), "n", token)
				if (err == nil) != slices.Contains(want, token) {
					t.Errorf("%s: Authenticate(%q) = %v, valid are %v", when, token, err, want)
				}
			}
		}
		check("at once", next, old)
		c.Advance(24*time.Hour - time.Second)
		check("at the end of the grace", next, old)
		c.Advance(time.Second)
		check("after the grace", next)
		third, err := f.Nodes.RotateToken(t.Context(), "n", "li")
		if err != nil {
			t.Fatal(err)
		}
		check("after another rotation", third, next)
		if n, _ := f.Nodes.Cached("n"); n.UpdatedBy != "li" {
			t.Errorf("updated by %q", n.UpdatedBy)
		}
		_, err = f.Nodes.RotateToken(t.Context(), "nobody", "li")
		wantFault(t, "an unknown node", err, fault.NotFound, "nobody")
	})
}

func TestSealer(t *testing.T) {
	s := sealer(t)
	a, err := s.Seal("7H2KQ9ZX4M1CVB0P")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := s.Seal("7H2KQ9ZX4M1CVB0P")
	if a == b {
		t.Error("one token was sealed into the same text twice")
	}
	if plain, err := s.Open(a); err != nil || plain != "7H2KQ9ZX4M1CVB0P" {
		t.Errorf("Open = %q, %v", plain, err)
	}
	if plain, err := s.Open("PLAIN"); err != nil || plain != "PLAIN" {
		t.Errorf("Open of a plain token = %q, %v; want it as it is", plain, err)
	}
	for _, damaged := range []string{"s1:", "s1:!", a[:len(a)-2], a[:10] + "A" + a[11:]} {
		if plain, err := s.Open(damaged); err == nil && damaged != a {
			t.Errorf("Open(%q) = %q, want an error", damaged, plain)
		}
	}
	if _, err := fleet.NewSealer(make([]byte, 31)); err == nil {
		t.Error("a short key was accepted")
	}
	if long, _ := s.Seal(strings.Repeat("t", 128)); len(long) > 255 {
		t.Errorf("the longest token takes %d characters, the column has 255", len(long))
	}
}

// TestWithoutASealerTokensStayPlain: beside a Java server, which reads the same column.
func TestWithoutASealerTokensStayPlain(t *testing.T) {
	db := testbed.SQLite(t)
	f, _ := open(t, db, func(o *fleet.Options) { o.Sealer = nil })
	_, token := mustNode(t, f, fleet.NewNode{Name: "n"})
	if row := db.Client.Node.Query().OnlyX(t.Context()); row.AccessToken != token {
		t.Errorf("stored %q, want %q", row.AccessToken, token)
	}
}

package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// TestEditsWaitForAnotherWriter: another process holds the database's write lock two seconds, again and again; sixteen edits at
// once wait for it and none fails, and beats do not wait at all (S91).
func TestEditsWaitForAnotherWriter(t *testing.T) {
	s := serve(t, nil)
	b := s.beater(t, "orders", s.node("orders"), "i1")
	s.awaitInstances("orders", 1, quickly)
	b.stop()
	for i := range 16 {
		s.node(fmt.Sprintf("n%02d", i))
	}
	db, err := sql.Open("sqlite", filepath.Join(s.Data, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	defer cancel()
	var wait sync.WaitGroup
	var held atomic.Int64 // which hold is on; 0: none
	wait.Go(func() { hog(t, ctx, db, &held) })
	var mu sync.Mutex
	edits, meanwhile := 0, 0
	for i := range 16 {
		wait.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				resp, raw := s.call(http.MethodPatch, fmt.Sprintf("/api/v1/nodes/n%02d", i), map[string]string{"name": fmt.Sprint("round ", round)}, nil)
				if resp.StatusCode != http.StatusOK {
					t.Errorf("an edit while another process writes: %d %s", resp.StatusCode, raw)
					return
				}
				mu.Lock()
				edits++
				mu.Unlock()
			}
		})
	}
	for ctx.Err() == nil {
		hold := held.Load()
		if status, answer := b.beat(); status != http.StatusOK {
			t.Errorf("a beat meanwhile: %d %s", status, answer)
		}
		if hold != 0 && hold == held.Load() {
			meanwhile++ // it was answered while the lock was held
		}
		pauseBetween(ctx)
	}
	wait.Wait()
	if edits < 16 || meanwhile == 0 {
		t.Errorf("%d edits, %d beats were answered during a lock; want edits between the locks, and beats that wait for none", edits, meanwhile)
	}
	t.Logf("%d edits, %d beats answered during a lock", edits, meanwhile)
}

// pauseBetween keeps a load from being a flood.
func pauseBetween(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
}

// hog holds the write lock for two seconds again and again.
func hog(t *testing.T, ctx context.Context, db *sql.DB, held *atomic.Int64) {
	conn, err := db.Conn(context.WithoutCancel(ctx))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	for hold := int64(1); ctx.Err() == nil; hold++ {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE"); err != nil {
			t.Error(err)
			return
		}
		held.Store(hold)
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
		held.Store(0)
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
			t.Error(err)
			return
		}
		pauseBetween(ctx)
	}
}

// onMariaDB is a server on a database of its own there.
func onMariaDB(t *testing.T) (*server, *sql.DB) {
	t.Helper()
	dsn := testbed.MariaDB(t)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return serve(t, []string{"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + dsn, "EC_DATABASE_MIGRATE=true"}), db
}

// TestIdleConnectionsEnd: the database closes what is idle, and nobody notices (S96).
func TestIdleConnectionsEnd(t *testing.T) {
	s, db := onMariaDB(t)
	s.node("orders")
	use := func(when string) {
		t.Helper()
		var wait sync.WaitGroup
		for i := range 16 {
			wait.Go(func() {
				if resp, raw := s.call(http.MethodGet, "/api/v1/nodes/orders", nil, nil); resp.StatusCode != 200 {
					t.Errorf("%s, a read: %d %s", when, resp.StatusCode, raw)
				}
				resp, raw := s.call(http.MethodPost, "/api/v1/groups", map[string]string{"code": fmt.Sprintf("%s-%d", when, i)}, nil)
				if resp.StatusCode != 201 {
					t.Errorf("%s, a write: %d %s", when, resp.StatusCode, raw)
				}
			})
		}
		wait.Wait()
	}
	use("before")
	kill := func() {
		t.Helper()
		rows, err := db.Query("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command = 'Sleep'")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		killed := 0
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(fmt.Sprintf("KILL CONNECTION %d", id)); err == nil {
				killed++
			}
		}
		if killed == 0 {
			t.Error("no idle connection was there to be closed")
		}
	}
	kill() // as wait_timeout does, at once
	use("after")
	var list struct{ Total int }
	if s.must(http.MethodGet, "/api/v1/groups", nil, 200, &list); list.Total != 32 {
		t.Errorf("%d groups, want 32: no write lost or done twice", list.Total)
	}
}

// TestFourBytesStayWhatTheyAre: emoji and rare Han in names, remarks, reasons and configs, on both databases (S97); two edits
// of one config never erase each other (S28).
func TestFourBytesStayWhatTheyAre(t *testing.T) {
	const text = "订单 🚀 𠮷 é"
	check := func(t *testing.T, s *server) {
		var created struct{ Name string }
		s.must(http.MethodPost, "/api/v1/nodes", map[string]string{"nodeName": "orders", "name": text}, 201, &created)
		s.must(http.MethodPost, "/api/v1/groups", map[string]string{"code": "g", "name": text, "remark": text}, 201, nil)
		var group struct{ Name, Remark string }
		s.must(http.MethodGet, "/api/v1/groups/g", nil, 200, &group)
		s.must(http.MethodPut, "/api/v1/nodes/orders/config", map[string]any{"baseRevision": 0, "config": map[string]string{text: text}}, 200, nil)
		resp, raw := s.call(http.MethodPut, "/api/v1/nodes/orders/config", map[string]any{"baseRevision": 0, "config": map[string]int{"a": 1}}, nil)
		if resp.StatusCode != http.StatusConflict || !strings.Contains(string(raw), "changed by erupt") {
			t.Errorf("the later of two edits: %d %s, want 409 and who was faster", resp.StatusCode, raw)
		}
		var config struct {
			Revision int
			Config   map[string]string
		}
		s.must(http.MethodGet, "/api/v1/nodes/orders/config", nil, 200, &config)
		if created.Name != text || group.Name != text || group.Remark != text || config.Config[text] != text || config.Revision != 1 {
			t.Errorf("node %q, group %+v, config %+v; want %q everywhere", created.Name, group, config, text)
		}
		b := s.beater(t, "orders", s.rotated("orders"), "i1")
		b.stop()
		s.must(http.MethodPut, "/api/v1/nodes/orders/instances/i1/drain?force=true", map[string]string{"reason": text}, 200, nil)
		eventually(t, quickly, func() bool { return len(s.events("kind=drained")) == 1 }, func() string { return kindsOf(s.events("")) })
		if e := s.events("kind=drained&q=" + "%F0%9F%9A%80"); len(e) != 1 || e[0].Reason != text {
			t.Errorf("history %+v, want it found by its emoji", e)
		}
	}
	t.Run("sqlite", func(t *testing.T) { check(t, serve(t, nil)) })
	t.Run("mariadb", func(t *testing.T) {
		s, _ := onMariaDB(t)
		check(t, s)
	})
}

// rotated gives a node another token and returns it.
func (s *server) rotated(node string) string {
	s.t.Helper()
	var out struct{ AccessToken string }
	s.must(http.MethodPost, "/api/v1/nodes/"+node+"/token/rotate", nil, http.StatusOK, &out)
	return out.AccessToken
}

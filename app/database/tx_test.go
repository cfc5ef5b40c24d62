package database_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent"
	"eruptcloud/ent/node"
)

func TestInTxCommitsOrRollsBack(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		add := func(name string, then func() error) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("panic: %v", p)
				}
			}()
			return db.InTx(t.Context(), func(ctx context.Context, tx *ent.Tx) error {
				if err := tx.Node.Create().SetNodeName(name).Exec(ctx); err != nil {
					return err
				}
				return then()
			})
		}
		if err := add("kept", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		refused := fault.New(fault.Conflict, "no")
		if err := add("refused", func() error { return refused }); !errors.Is(err, refused) {
			t.Errorf("InTx = %v, want the error of its work", err)
		}
		if err := add("panicked", func() error { panic("boom") }); err == nil || err.Error() != "panic: boom" {
			t.Errorf("InTx = %v, want the panic to pass through", err)
		}
		names, err := db.Client.Node.Query().Select(node.FieldNodeName).Strings(t.Context())
		if err != nil || len(names) != 1 || names[0] != "kept" {
			t.Errorf("rows %v, %v; want only the committed one", names, err)
		}
	})
}

// TestAnEndedContextSaysOnce: database/sql rolls back by itself then, and that our rollback finds nothing to do is no news.
func TestAnEndedContextSaysOnce(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
			cancel()
			for { // until database/sql has noticed
				if _, err := tx.Node.Query().Count(context.WithoutCancel(ctx)); err != nil {
					return ctx.Err()
				}
			}
		})
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "rollback") {
			t.Errorf("InTx = %v, want that the context ended and no more", err)
		}
	})
}

// TestParallelEditors holds S91: edits that read, check and write wait for each other and for other processes, and none is lost.
func TestParallelEditors(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		row := db.Client.NodeExtra.Create().SetNodeID(1).SaveX(t.Context())
		const editors, edits = 16, 5
		var wg sync.WaitGroup
		for range editors {
			wg.Go(func() {
				for range edits {
					err := db.InTx(t.Context(), func(ctx context.Context, tx *ent.Tx) error {
						seen, err := tx.NodeExtra.Get(ctx, row.ID)
						if err != nil {
							return err
						}
						return tx.NodeExtra.UpdateOneID(row.ID).AddConfigRevision(1).SetOldToken(fmt.Sprint(seen.ConfigRevision)).Exec(ctx)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := db.Client.NodeExtra.GetX(t.Context(), row.ID).ConfigRevision; got != editors*edits {
			t.Errorf("%d edits arrived, want %d", got, editors*edits)
		}
	})
}

// TestBusyIsUnavailable: past the timeout a locked database is no internal error, and says when to try again (S91).
func TestBusyIsUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	maria := testbed.MariaDB(t)
	for name, o := range map[string]database.Options{
		"sqlite":  {Driver: database.SQLite, DSN: "file:" + path + "?_pragma=busy_timeout(50)"},
		"mariadb": {Driver: database.MySQL, DSN: maria + "?innodb_lock_wait_timeout=1"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := database.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := database.Migrate(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			row := db.Client.NodeExtra.Create().SetNodeID(1).SaveX(t.Context())
			write := func(ctx context.Context, tx *ent.Tx) error {
				return tx.NodeExtra.UpdateOneID(row.ID).AddConfigRevision(1).Exec(ctx)
			}
			err = db.InTx(t.Context(), func(ctx context.Context, tx *ent.Tx) error {
				if err := write(ctx, tx); err != nil {
					return err
				}
				err := db.InTx(t.Context(), write) // another connection, as another process has it
				if !fault.Is(err, fault.Unavailable) || fault.Of(err).RetryAfter <= 0 {
					t.Errorf("a write that met a lock = %v, want unavailable with a time to try again", err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if got := db.Client.NodeExtra.GetX(t.Context(), row.ID).ConfigRevision; got != 1 {
				t.Errorf("%d writes arrived, want 1", got)
			}
		})
	}
}

// TestDeadlockVictimsRunAgain makes two transactions take two rows in opposite order.
func TestDeadlockVictimsRunAgain(t *testing.T) {
	db := testbed.MySQL(t)
	a := db.Client.NodeExtra.Create().SetNodeID(1).SaveX(t.Context())
	b := db.Client.NodeExtra.Create().SetNodeID(2).SaveX(t.Context())
	var runs atomic.Int64
	var both sync.WaitGroup // until each has its first row
	both.Add(2)
	var wg sync.WaitGroup
	for _, order := range [][]int64{{a.ID, b.ID}, {b.ID, a.ID}} {
		wg.Go(func() {
			first := true
			err := db.InTx(t.Context(), func(ctx context.Context, tx *ent.Tx) error {
				runs.Add(1)
				for i, id := range order {
					if err := tx.NodeExtra.UpdateOneID(id).AddConfigRevision(1).Exec(ctx); err != nil {
						return err
					}
					if i == 0 && first {
						first = false
						both.Done()
						both.Wait()
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := runs.Load(); n < 3 {
		t.Errorf("%d runs, want a victim that ran again", n)
	}
	for _, id := range []int64{a.ID, b.ID} {
		if got := db.Client.NodeExtra.GetX(t.Context(), id).ConfigRevision; got != 2 {
			t.Errorf("row %d has %d writes, want each transaction's once", id, got)
		}
	}
}

func TestMapped(t *testing.T) {
	missing, taken := fault.New(fault.NotFound, "missing"), fault.New(fault.Conflict, "taken")
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		db.Client.Node.Create().SetNodeName("n").ExecX(ctx)
		_, notFound := db.Client.Node.Query().Where(node.NodeName("other")).Only(ctx)
		duplicate := db.Client.Node.Create().SetNodeName("n").Exec(ctx)
		_, raw := db.SQL.ExecContext(ctx, "INSERT INTO e_cloud_node (node_name) VALUES ('n')")
		long := db.Client.Node.Create().SetNodeName("m").SetName(strings.Repeat("x", 256)).Exec(ctx)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, canceled := db.Client.Node.Query().Count(gone)
		syntax := second(db.SQL.ExecContext(ctx, "SELEKT"))
		for name, tt := range map[string]struct {
			err  error
			want fault.Code
		}{
			"nothing":                   {nil, ""},
			"a missing row":             {notFound, fault.NotFound},
			"a duplicate through ent":   {duplicate, fault.Conflict},
			"a duplicate by hand":       {raw, fault.Conflict},
			"a value that does not fit": {long, fault.Invalid},
			"a fault":                   {fmt.Errorf("x: %w", fault.New(fault.Forbidden, "no")), fault.Forbidden},
			"a wrong statement":         {syntax, fault.Internal},
		} {
			if got := database.Mapped(tt.err, missing, taken); fault.CodeOf(got) != tt.want {
				t.Errorf("%s: Mapped(%v) = %v, want code %q", name, tt.err, got, tt.want)
			}
		}
		if got := database.Mapped(canceled, missing, taken); !errors.Is(got, context.Canceled) {
			t.Errorf("Mapped(%v) = %v, want the cancellation", canceled, got)
		}
		if got := database.Mapped(notFound, nil, nil); !ent.IsNotFound(got) {
			t.Errorf("Mapped without a fault for it = %v, want the error itself", got)
		}
	})
	// MySQL must not cut a text that is too long, whoever writes it.
	_, cut := testbed.MySQL(t).SQL.Exec("INSERT INTO e_cloud_node (node_name, name) VALUES ('m', REPEAT('x', 256))")
	if got := database.Mapped(cut, nil, nil); !fault.Is(got, fault.Invalid) {
		t.Errorf("Mapped(%v) = %v, want invalid", cut, got)
	}
}

// TestHeldLocksAreWaitedFor: another process holds SQLite's write lock again and again; no edit fails (S91).
func TestHeldLocksAreWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	open := func() *database.DB {
		db, err := database.Open(t.Context(), database.Options{Driver: database.SQLite, DSN: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db, other := open(), open()
	if _, err := database.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	row := db.Client.NodeExtra.Create().SetNodeID(1).SaveX(t.Context())
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				err := db.InTx(t.Context(), func(ctx context.Context, tx *ent.Tx) error {
					if _, err := tx.NodeExtra.Get(ctx, row.ID); err != nil {
						return err
					}
					return tx.NodeExtra.UpdateOneID(row.ID).AddConfigRevision(1).Exec(ctx)
				})
				if err != nil {
					t.Errorf("an edit failed for a lock under the timeout: %v", err)
					return
				}
			}
		})
	}
	for range 5 {
		err := other.InTx(t.Context(), func(ctx context.Context, tx *ent.Tx) error {
			// Reads go on while the lock is held.
			if _, err := db.Client.NodeExtra.Get(ctx, row.ID); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

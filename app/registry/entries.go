package registry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"eruptcloud/app/loop"
)

// settle waits until the table shows a write and copies the node's state for others to read. That copy is no part of the
// write: if it fails, Survey puts it right.
func (r *Registry) settle(ctx context.Context, node string, seq Seq, beats ...string) {
	v := r.await(ctx, seq)
	if r.entries == nil || node == "" {
		return
	}
	r.entryFailed(ctx, node, r.entries.Write(ctx, node, v, beats...))
}

func (r *Registry) touchEntry(ctx context.Context, node string, beats ...string) {
	if r.entries == nil {
		return
	}
	err := r.entries.Touch(ctx, node, beats...)
	if errors.Is(err, ErrNoEntry) {
		err = r.entries.Write(ctx, node, r.View(), beats...)
	}
	r.entryFailed(ctx, node, err)
}

func (r *Registry) entryFailed(ctx context.Context, node string, err error) {
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "cannot write the node's entry; the next survey will", "node", node, "error", err)
	}
}

// Survey rewrites the entries of nodes that are missing, unreadable or behind. Once per fleet, with the patrol: it reads
// all entries at once (A12).
func (r *Registry) Survey(ctx context.Context, nodes []string) error {
	if r.entries == nil || len(nodes) == 0 {
		return nil
	}
	v := r.View()
	wrong, err := r.entries.Wrong(ctx, nodes, v)
	if err != nil {
		return err
	}
	for _, node := range wrong {
		if err := r.entries.Write(ctx, node, v); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		slog.InfoContext(ctx, "rewrote node entries", "nodes", wrong)
	}
	return nil
}

// Surveyor surveys the node entries with each patrol. On one replica only: boot wraps Run in AsLeader.
type Surveyor struct {
	Registry *Registry
	Names    func(context.Context) ([]string, error) // nodes in the database
	Interval time.Duration
}

// Run surveys until ctx ends.
func (s *Surveyor) Run(ctx context.Context) error {
	return loop.Every(ctx, "survey of node entries", 0, s.Interval, s.surveyOnce)
}

func (s *Surveyor) surveyOnce(ctx context.Context) error {
	names, err := s.Names(ctx)
	if err != nil {
		return err
	}
	return s.Registry.Survey(ctx, names)
}

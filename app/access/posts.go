package access

import (
	"context"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/post"
	"eruptcloud/ent/user"
)

// Post is a position that users hold.
type Post struct {
	ID     int64
	Code   string // unique
	Name   string // the code where the database has none
	Weight int
	Users  int // who hold it
}

// Posts keeps positions.
type Posts struct{ db *database.DB }

// NewPost is a wish for a position.
type NewPost struct {
	Code   string // up to 64 letters, digits and . _ - $ @
	Name   string // empty: the code
	Weight int
}

// PostPatch says what to change; nil leaves a thing as it is.
type PostPatch struct {
	Name   *string
	Weight *int
}

func noPost(code string) *fault.Error {
	return fault.New(fault.NotFound, "no post has the code %q", code)
}

// All returns every post by weight.
func (p *Posts) All(ctx context.Context) ([]Post, error) {
	rows, err := p.db.Client.Post.Query().Order(post.ByWeight(), post.ByCode(), post.ByID()).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	users, err := countUsers(ctx, p.db, user.FieldEruptPostID)
	if err != nil {
		return nil, err
	}
	all := make([]Post, 0, len(rows))
	for _, r := range rows {
		one := postOf(r)
		one.Users = users[r.ID]
		all = append(all, one)
	}
	return all, nil
}

// ByCode returns a post. fault.NotFound if there is none.
func (p *Posts) ByCode(ctx context.Context, code string) (Post, error) {
	row, err := p.db.Client.Post.Query().Where(post.Code(code)).Only(ctx)
	if err != nil {
		return Post{}, database.Mapped(err, noPost(code), nil)
	}
	one := postOf(row)
	one.Users, err = p.db.Client.User.Query().Where(user.EruptPostID(row.ID)).Count(ctx)
	return one, database.Mapped(err, nil, nil)
}

// Create makes a post. fault.Invalid with Fields, fault.Conflict if the code exists in any case.
func (p *Posts) Create(ctx context.Context, n NewPost) (Post, error) {
	if strings.TrimSpace(n.Name) == "" {
		n.Name = n.Code
	}
	if err := orNil(placeFault(n.Code, n.Name)); err != nil {
		return Post{}, err
	}
	taken := fault.New(fault.Conflict, "a post with the code %q exists already", n.Code).Field("code", "exists already")
	err := p.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		if exists, err := tx.Post.Query().Where(post.CodeEqualFold(n.Code)).Exist(ctx); err != nil {
			return err
		} else if exists {
			return taken
		}
		return database.Mapped(tx.Post.Create().SetCode(n.Code).SetName(n.Name).SetWeight(n.Weight).Exec(ctx), nil, taken)
	})
	if err != nil {
		return Post{}, database.Mapped(err, nil, nil)
	}
	return p.ByCode(ctx, n.Code)
}

// Update changes a post.
func (p *Posts) Update(ctx context.Context, code string, change PostPatch) (Post, error) {
	if change.Name != nil {
		if err := orNil(nameFault(nil, *change.Name)); err != nil {
			return Post{}, err
		}
	}
	before, err := p.ByCode(ctx, code)
	if err != nil {
		return Post{}, err
	}
	update := p.db.Client.Post.Update().Where(post.ID(before.ID))
	setPatch(change.Name, update.SetName)
	if change.Weight != nil {
		update.SetWeight(*change.Weight)
	}
	if err := update.Exec(ctx); err != nil {
		return Post{}, database.Mapped(err, nil, nil)
	}
	return p.ByCode(ctx, code)
}

// Delete removes a post. fault.Conflict if users hold it.
func (p *Posts) Delete(ctx context.Context, code string) error {
	err := p.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := tx.Post.Query().Where(post.Code(code)).Only(ctx)
		if err != nil {
			return database.Mapped(err, noPost(code), nil)
		}
		n, err := tx.User.Query().Where(user.EruptPostID(row.ID)).Count(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			return fault.New(fault.Conflict, "%d users hold the post %q; give them another one first", n, code)
		}
		_, err = tx.Post.Delete().Where(post.ID(row.ID)).Exec(ctx)
		return database.Mapped(err, nil, fault.New(fault.Conflict, "other records still refer to the post %q", code))
	})
	return database.Mapped(err, nil, nil)
}

func postOf(r *ent.Post) Post {
	return Post{ID: r.ID, Code: r.Code, Name: orText(r.Name, r.Code), Weight: r.Weight}
}

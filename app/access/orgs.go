package access

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/org"
	"eruptcloud/ent/user"
)

// Org is an organisation; users belong to one at most.
type Org struct {
	ID     int64
	Code   string // unique
	Name   string // the code where the database has none
	Parent int64  // zero: none
	// ParentCode is the code of Parent.
	ParentCode string
	Sort       int
	Depth      int // below how many others it lies
	Users      int // in it, those below it left out
}

// Orgs keeps organisations.
type Orgs struct{ db *database.DB }

// NewOrg is a wish for an organisation.
type NewOrg struct {
	Code   string // up to 64 letters, digits and . _ - $ @
	Name   string // empty: the code
	Parent string // code; empty: none
	Sort   int
}

// OrgPatch says what to change; nil leaves a thing as it is.
type OrgPatch struct {
	Name, Parent *string
	Sort         *int
}

func noOrg(code string) *fault.Error {
	return fault.New(fault.NotFound, "no organisation has the code %q", code)
}

// All returns every organisation as a tree: each before those below it, by sort number. What lies in a circle, which another
// program may have made, comes last.
func (o *Orgs) All(ctx context.Context) ([]Org, error) {
	rows, err := o.db.Client.Org.Query().All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	users, err := countUsers(ctx, o.db, user.FieldEruptOrgID)
	if err != nil {
		return nil, err
	}
	all := make([]Org, 0, len(rows))
	codes := make(map[int64]string, len(rows))
	for _, r := range rows {
		codes[r.ID] = r.Code
	}
	for _, r := range rows {
		one := orgOf(r)
		one.ParentCode, one.Users = codes[one.Parent], users[r.ID]
		all = append(all, one)
	}
	return orgTree(all), nil
}

// ByCode returns an organisation, without its depth. fault.NotFound if there is none.
func (o *Orgs) ByCode(ctx context.Context, code string) (Org, error) {
	row, err := o.db.Client.Org.Query().Where(org.Code(code)).WithParent().Only(ctx)
	if err != nil {
		return Org{}, database.Mapped(err, noOrg(code), nil)
	}
	one := orgOf(row)
	if row.Edges.Parent != nil {
		one.ParentCode = row.Edges.Parent.Code
	}
	one.Users, err = o.db.Client.User.Query().Where(user.EruptOrgID(row.ID)).Count(ctx)
	return one, database.Mapped(err, nil, nil)
}

// Create makes an organisation. fault.Invalid with Fields, fault.Conflict if the code exists in any case.
func (o *Orgs) Create(ctx context.Context, n NewOrg) (Org, error) {
	if strings.TrimSpace(n.Name) == "" {
		n.Name = n.Code
	}
	if err := orNil(placeFault(n.Code, n.Name)); err != nil {
		return Org{}, err
	}
	taken := fault.New(fault.Conflict, "an organisation with the code %q exists already", n.Code).Field("code", "exists already")
	err := o.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		rows, err := o.locked(ctx, tx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(rows, func(r *ent.Org) bool { return strings.EqualFold(r.Code, n.Code) }) {
			return taken
		}
		c := tx.Org.Create().SetCode(n.Code).SetName(n.Name).SetSort(n.Sort)
		if n.Parent != "" {
			id, err := orgParent(rows, 0, n.Parent)
			if err != nil {
				return err
			}
			c.SetParentOrgID(id)
		}
		return database.Mapped(c.Exec(ctx), nil, taken)
	})
	if err != nil {
		return Org{}, err
	}
	return o.ByCode(ctx, n.Code)
}

// Update changes an organisation. fault.Invalid with Fields if it would lie below itself.
func (o *Orgs) Update(ctx context.Context, code string, p OrgPatch) (Org, error) {
	if p.Name != nil {
		if err := orNil(nameFault(nil, *p.Name)); err != nil {
			return Org{}, err
		}
	}
	err := o.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		rows, err := o.locked(ctx, tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rows, func(r *ent.Org) bool { return r.Code == code })
		if i < 0 {
			return noOrg(code)
		}
		change := tx.Org.Update().Where(org.ID(rows[i].ID))
		setPatch(p.Name, change.SetName)
		if p.Sort != nil {
			change.SetSort(*p.Sort)
		}
		switch {
		case p.Parent == nil:
		case *p.Parent == "":
			change.ClearParentOrgID()
		default:
			id, err := orgParent(rows, rows[i].ID, *p.Parent)
			if err != nil {
				return err
			}
			change.SetParentOrgID(id)
		}
		return change.Exec(ctx)
	})
	if err != nil {
		return Org{}, database.Mapped(err, nil, nil)
	}
	return o.ByCode(ctx, code)
}

// Delete removes an organisation. fault.Conflict if users are in it or others lie below it.
func (o *Orgs) Delete(ctx context.Context, code string) error {
	err := o.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		rows, err := o.locked(ctx, tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rows, func(r *ent.Org) bool { return r.Code == code })
		if i < 0 {
			return noOrg(code)
		}
		id := rows[i].ID
		if slices.ContainsFunc(rows, func(r *ent.Org) bool { return orZero(r.ParentOrgID) == id && r.ID != id }) {
			return fault.New(fault.Conflict, "other organisations lie below %q; delete or move them first", code)
		}
		n, err := tx.User.Query().Where(user.EruptOrgID(id)).Count(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			return fault.New(fault.Conflict, "%d users are in the organisation %q; move them first", n, code)
		}
		_, err = tx.Org.Delete().Where(org.ID(id)).Exec(ctx)
		return database.Mapped(err, nil, fault.New(fault.Conflict, "other records still refer to the organisation %q", code))
	})
	return database.Mapped(err, nil, nil)
}

// locked reads all organisations and, on MySQL, keeps others from changing them until the transaction ends: two moves that
// each are right could make a circle together.
func (o *Orgs) locked(ctx context.Context, tx *ent.Tx) ([]*ent.Org, error) {
	q := tx.Org.Query().Order(org.ByID())
	if o.db.Driver == database.MySQL {
		q.ForUpdate()
	}
	return q.All(ctx)
}

// orgParent finds the organisation to lie below, which must not be the one with the id or lie below that.
func orgParent(rows []*ent.Org, id int64, code string) (int64, error) {
	byID := make(map[int64]*ent.Org, len(rows))
	var target *ent.Org
	for _, r := range rows {
		byID[r.ID] = r
		if r.Code == code {
			target = r
		}
	}
	if target == nil {
		const format = "there is no organisation %q"
		return 0, fault.New(fault.Invalid, format, code).Field("parent", format, code)
	}
	for up, steps := target, 0; up != nil && id != 0; up, steps = byID[orZero(up.ParentOrgID)], steps+1 {
		if up.ID == id || steps > len(rows) {
			return 0, fault.New(fault.Invalid, "an organisation cannot lie below itself").Field("parent", "lies below this organisation")
		}
	}
	return target.ID, nil
}

// subtree returns the ids of an organisation and of all below it. fault.NotFound if there is none.
func (o *Orgs) subtree(ctx context.Context, code string) ([]int64, error) {
	rows, err := o.db.Client.Org.Query().All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	var found []int64
	for _, r := range rows {
		if r.Code == code {
			found = append(found, r.ID)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, r := range rows {
			if orZero(r.ParentOrgID) == found[i] && !slices.Contains(found, r.ID) {
				found = append(found, r.ID)
			}
		}
	}
	return found, nil
}

func orgOf(r *ent.Org) Org {
	return Org{ID: r.ID, Code: r.Code, Name: orText(r.Name, r.Code), Parent: orZero(r.ParentOrgID), Sort: r.Sort}
}

// orgTree puts each organisation before those below it.
func orgTree(all []Org) []Org {
	known := make(map[int64]bool, len(all))
	for _, o := range all {
		known[o.ID] = true
	}
	below := map[int64][]Org{}
	for _, o := range all {
		up := o.Parent
		if !known[up] {
			up = 0
		}
		below[up] = append(below[up], o)
	}
	for _, own := range below {
		slices.SortFunc(own, func(a, b Org) int { return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.ID, b.ID)) })
	}
	out := make([]Org, 0, len(all))
	placed := make(map[int64]bool, len(all))
	var walk func(own []Org, depth int)
	walk = func(own []Org, depth int) {
		for _, o := range own {
			if placed[o.ID] {
				continue
			}
			placed[o.ID] = true
			o.Depth = depth
			out = append(out, o)
			walk(below[o.ID], depth+1)
		}
	}
	walk(below[0], 0)
	walk(all, 0) // what lies in a circle
	return out
}

// countUsers counts users by the value of one of their columns, that of an organisation or a post.
func countUsers(ctx context.Context, db *database.DB, column string) (map[int64]int, error) {
	var rows []struct {
		Org   int64 `json:"erupt_org_id"`
		Post  int64 `json:"erupt_post_id"`
		Users int   `json:"users"`
	}
	err := db.Client.User.Query().Where(func(s *sql.Selector) { s.Where(sql.NotNull(s.C(column))) }).GroupBy(column).
		Aggregate(ent.As(ent.Count(), "users")).Scan(ctx, &rows)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	out := make(map[int64]int, len(rows))
	for _, r := range rows {
		out[r.Org+r.Post] = r.Users // one of the two is zero
	}
	return out, nil
}

// placeFault checks code and name of an organisation or a post.
func placeFault(code, name string) *fault.Error {
	var wrong *fault.Error
	if !isCode(code) {
		wrong = fieldFault(wrong, "code", "needs 1 to 64 letters, digits and . _ - $ @")
	}
	return nameFault(wrong, name)
}

func nameFault(wrong *fault.Error, name string) *fault.Error {
	if strings.TrimSpace(name) == "" {
		wrong = fieldFault(wrong, "name", "must not be empty")
	}
	return textFault(wrong, "name", name, 255)
}

// Package dict keeps dictionaries: named lists of values that applications read (erupt-wire 6.7).
package dict

import (
	"context"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	entdict "eruptcloud/ent/dict"
	"eruptcloud/ent/dictitem"
	"eruptcloud/ent/predicate"
)

// Dict is a dictionary.
type Dict struct {
	ID      int64
	Code    string // unique
	Name    string // the code where the database has none
	Remark  string
	Items   int
	Updated time.Time
	By      string // who changed it last
}

// Options of New. DB is needed.
type Options struct {
	DB  *database.DB
	Now func() time.Time // nil: the clock
}

// Dicts keeps dictionaries and their items.
type Dicts struct {
	db  *database.DB
	now func() time.Time
}

// New returns the dictionaries of a database.
func New(o Options) *Dicts {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Dicts{db: o.DB, now: o.Now}
}

// Wish is what a dictionary should be. Its code stays as it is for good.
type Wish struct {
	Code   string // up to 64 letters, digits and . _ - $ @
	Name   string // empty: the code
	Remark string
	By     string // account
}

// Order is how a list of dictionaries is sorted; empty is by code.
type Order string

// The orders of dictionaries; codes break ties.
const (
	ByName    Order = "name"
	ByUpdated Order = "updated" // the latest first
)

// Filter selects dictionaries for a list; empty fields select all.
type Filter struct {
	Query          string // part of code, name or remark, or of code, name or value of an item, in any case
	Order          Order
	Page, PageSize int // from 1; 20 a page unless said, 500 at most
}

func noDict(code string) *fault.Error {
	return fault.New(fault.NotFound, "no dictionary has the code %q", code)
}

// List returns one page of dictionaries, and how many there are in all.
func (d *Dicts) List(ctx context.Context, f Filter) ([]Dict, int, error) {
	var where []predicate.Dict
	if text := strings.TrimSpace(f.Query); text != "" {
		where = append(where, entdict.Or(entdict.CodeContainsFold(text), entdict.NameContainsFold(text), entdict.RemarkContainsFold(text),
			entdict.HasItemsWith(dictitem.Or(dictitem.CodeContainsFold(text), dictitem.NameContainsFold(text), dictitem.ValContainsFold(text)))))
	}
	total, err := d.db.Client.Dict.Query().Where(where...).Count(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	order := []entdict.OrderOption{entdict.ByCode(), entdict.ByID()}
	switch f.Order {
	case ByName:
		order = append([]entdict.OrderOption{entdict.ByName()}, order...)
	case ByUpdated:
		order = append([]entdict.OrderOption{entdict.ByUpdateTime(sql.OrderDesc())}, order...)
	}
	offset, limit := pageOf(f.Page, f.PageSize)
	rows, err := d.db.Client.Dict.Query().Where(where...).Order(order...).Offset(offset).Limit(limit).All(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	found := make([]Dict, 0, len(rows))
	for _, r := range rows {
		found = append(found, dictOf(r))
	}
	return found, total, d.count(ctx, found)
}

// ByCode returns a dictionary. fault.NotFound if there is none.
func (d *Dicts) ByCode(ctx context.Context, code string) (Dict, error) {
	row, err := d.db.Client.Dict.Query().Where(entdict.Code(code)).Only(ctx)
	if err != nil {
		return Dict{}, database.Mapped(err, noDict(code), nil)
	}
	one := []Dict{dictOf(row)}
	err = d.count(ctx, one)
	return one[0], err
}

// count adds how many items dictionaries have.
func (d *Dicts) count(ctx context.Context, dicts []Dict) error {
	ids := make([]int64, 0, len(dicts))
	for _, one := range dicts {
		ids = append(ids, one.ID)
	}
	var rows []struct {
		Dict  int64 `json:"erupt_dict_id"`
		Items int   `json:"items"`
	}
	err := d.db.Client.DictItem.Query().Where(dictitem.EruptDictIDIn(ids...)).GroupBy(dictitem.FieldEruptDictID).
		Aggregate(ent.As(ent.Count(), "items")).Scan(ctx, &rows)
	if err != nil {
		return database.Mapped(err, nil, nil)
	}
	for _, r := range rows {
		for i := range dicts {
			if dicts[i].ID == r.Dict {
				dicts[i].Items = r.Items
			}
		}
	}
	return nil
}

// Create makes a dictionary. fault.Invalid with Fields, fault.Conflict if the code exists in any case.
func (d *Dicts) Create(ctx context.Context, w Wish) (Dict, error) {
	if strings.TrimSpace(w.Name) == "" {
		w.Name = w.Code
	}
	if err := w.check(true); err != nil {
		return Dict{}, err
	}
	taken := fault.New(fault.Conflict, "a dictionary with the code %q exists already", w.Code).Field("code", "exists already")
	err := d.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		if exists, err := tx.Dict.Query().Where(entdict.CodeEqualFold(w.Code)).Exist(ctx); err != nil {
			return err
		} else if exists {
			return taken
		}
		now := d.now()
		c := tx.Dict.Create().SetCode(w.Code).SetName(w.Name).SetCreateBy(w.By).SetUpdateBy(w.By).SetCreateTime(now).SetUpdateTime(now)
		if w.Remark != "" {
			c.SetRemark(w.Remark)
		}
		return database.Mapped(c.Exec(ctx), nil, taken)
	})
	if err != nil {
		return Dict{}, database.Mapped(err, nil, nil)
	}
	return d.ByCode(ctx, w.Code)
}

// Update gives a dictionary name and remark.
func (d *Dicts) Update(ctx context.Context, code string, w Wish) (Dict, error) {
	if err := w.check(false); err != nil {
		return Dict{}, err
	}
	before, err := d.ByCode(ctx, code)
	if err != nil {
		return Dict{}, err
	}
	err = d.db.Client.Dict.Update().Where(entdict.ID(before.ID)).SetName(w.Name).SetRemark(w.Remark).SetUpdateBy(w.By).
		SetUpdateTime(d.now()).Exec(ctx)
	if err != nil {
		return Dict{}, database.Mapped(err, nil, nil)
	}
	return d.ByCode(ctx, code)
}

// Delete removes a dictionary with its items, and returns how many these were.
func (d *Dicts) Delete(ctx context.Context, code string) (items int, err error) {
	err = d.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := tx.Dict.Query().Where(entdict.Code(code)).Only(ctx)
		if err != nil {
			return database.Mapped(err, noDict(code), nil)
		}
		if items, err = tx.DictItem.Delete().Where(dictitem.EruptDictID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.Dict.Delete().Where(entdict.ID(row.ID)).Exec(ctx)
		return database.Mapped(err, nil, fault.New(fault.Conflict, "other records still refer to the dictionary %q", code))
	})
	return items, database.Mapped(err, nil, nil)
}

func dictOf(r *ent.Dict) Dict {
	out := Dict{ID: r.ID, Code: r.Code, Name: r.Name, Remark: r.Remark, By: r.UpdateBy}
	if out.Name == "" {
		out.Name = r.Code
	}
	if r.UpdateTime != nil {
		out.Updated = *r.UpdateTime
	}
	return out
}

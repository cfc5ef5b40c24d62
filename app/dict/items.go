package dict

import (
	"context"
	"strings"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	entdict "eruptcloud/ent/dict"
	"eruptcloud/ent/dictitem"
)

// Item is one value of a dictionary.
type Item struct {
	ID     int64
	Code   string // unique in its dictionary
	Name   string // the code where the database has none
	Value  string
	Remark string
	Sort   *int // nil: none, which comes first
}

// ItemWish is what an item should be.
type ItemWish struct {
	Code   string // any text of up to 64 characters
	Name   string // empty: the code
	Value  string
	Remark string
	Sort   *int
	By     string // account
}

// MostItems is how many items a dictionary takes here.
const MostItems = 10_000

func noItem(id int64) *fault.Error {
	return fault.New(fault.NotFound, "the dictionary has no item %d", id)
}

// Items returns the items of a dictionary by sort number, then code. query is part of code, name, value or remark, in any
// case; empty: all. fault.NotFound if there is no such dictionary.
func (d *Dicts) Items(ctx context.Context, code, query string) ([]Item, error) {
	in, err := d.ByCode(ctx, code)
	if err != nil {
		return nil, err
	}
	q := d.db.Client.DictItem.Query().Where(dictitem.EruptDictID(in.ID))
	if text := strings.TrimSpace(query); text != "" {
		q.Where(dictitem.Or(dictitem.CodeContainsFold(text), dictitem.NameContainsFold(text), dictitem.ValContainsFold(text),
			dictitem.RemarkContainsFold(text)))
	}
	unsorted := func(s *sql.Selector) { s.OrderExpr(sql.ExprP(s.C(dictitem.FieldSort) + " IS NOT NULL")) }
	rows, err := q.Order(unsorted, dictitem.BySort(), dictitem.ByCode(), dictitem.ByID()).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	found := make([]Item, 0, len(rows))
	for _, r := range rows {
		found = append(found, itemOf(r))
	}
	return found, nil
}

// Item returns an item of a dictionary. fault.NotFound if it has none with the id.
func (d *Dicts) Item(ctx context.Context, code string, id int64) (Item, error) {
	row, err := d.db.Client.DictItem.Query().Where(dictitem.ID(id), dictitem.HasDictWith(entdict.Code(code))).Only(ctx)
	if err != nil {
		return Item{}, database.Mapped(err, noItem(id), nil)
	}
	return itemOf(row), nil
}

// AddItem makes an item. fault.Invalid with Fields, fault.Conflict if the dictionary has the code.
func (d *Dicts) AddItem(ctx context.Context, code string, w ItemWish) (Item, error) {
	if err := w.check(); err != nil {
		return Item{}, err
	}
	var id int64
	err := d.changed(ctx, code, w.By, func(ctx context.Context, tx *ent.Tx, in *ent.Dict) error {
		n, err := tx.DictItem.Query().Where(dictitem.EruptDictID(in.ID)).Count(ctx)
		if err != nil {
			return err
		}
		if n >= MostItems {
			return fault.New(fault.Conflict, "a dictionary takes %d items at most", MostItems)
		}
		row, err := w.create(tx, in.ID, d).Save(ctx)
		if err != nil {
			return database.Mapped(err, nil, w.taken())
		}
		id = row.ID
		return nil
	})
	if err != nil {
		return Item{}, err
	}
	return d.Item(ctx, code, id)
}

// UpdateItem gives an item other values.
func (d *Dicts) UpdateItem(ctx context.Context, code string, id int64, w ItemWish) (Item, error) {
	if err := w.check(); err != nil {
		return Item{}, err
	}
	err := d.changed(ctx, code, w.By, func(ctx context.Context, tx *ent.Tx, in *ent.Dict) error {
		if exists, err := tx.DictItem.Query().Where(dictitem.ID(id), dictitem.EruptDictID(in.ID)).Exist(ctx); err != nil {
			return err
		} else if !exists {
			return noItem(id)
		}
		return database.Mapped(w.update(tx, id, d).Exec(ctx), nil, w.taken())
	})
	if err != nil {
		return Item{}, err
	}
	return d.Item(ctx, code, id)
}

// DeleteItem removes an item.
func (d *Dicts) DeleteItem(ctx context.Context, code string, id int64, by string) error {
	return d.changed(ctx, code, by, func(ctx context.Context, tx *ent.Tx, in *ent.Dict) error {
		n, err := tx.DictItem.Delete().Where(dictitem.ID(id), dictitem.EruptDictID(in.ID)).Exec(ctx)
		if err == nil && n == 0 {
			return noItem(id)
		}
		return err
	})
}

// Imported says what an import did.
type Imported struct{ Added, Changed, Same int }

// Import adds items and changes those that the dictionary has by code, all or none; what it does not name stays.
func (d *Dicts) Import(ctx context.Context, code string, wishes []ItemWish, by string) (Imported, error) {
	var done Imported
	seen := map[string]int{}
	for i, w := range wishes {
		if err := w.check(); err != nil {
			return done, inRow(i, err)
		}
		if first, twice := seen[w.Code]; twice {
			const format = "rows %d and %d have the same code %q"
			return done, fault.New(fault.Invalid, format, first+1, i+1, w.Code).Field("file", format, first+1, i+1, w.Code)
		}
		seen[w.Code] = i
	}
	err := d.changed(ctx, code, by, func(ctx context.Context, tx *ent.Tx, in *ent.Dict) error {
		done = Imported{}
		rows, err := tx.DictItem.Query().Where(dictitem.EruptDictID(in.ID)).All(ctx)
		if err != nil {
			return err
		}
		have := make(map[string]*ent.DictItem, len(rows))
		for _, r := range rows {
			have[r.Code] = r
		}
		var added []*ent.DictItemCreate
		for _, w := range wishes {
			w.By = by
			old, exists := have[w.Code]
			switch {
			case !exists:
				added = append(added, w.create(tx, in.ID, d))
			case w.same(itemOf(old)):
				done.Same++
			default:
				if err := w.update(tx, old.ID, d).Exec(ctx); err != nil {
					return err
				}
				done.Changed++
			}
		}
		if len(rows)+len(added) > MostItems {
			return fault.New(fault.Conflict, "a dictionary takes %d items at most", MostItems)
		}
		done.Added = len(added)
		for len(added) > 0 {
			n := min(len(added), 200)
			if err := tx.DictItem.CreateBulk(added[:n]...).Exec(ctx); err != nil {
				return database.Mapped(err, nil, fault.New(fault.Conflict, "some items differ from others in case only, which this database takes for the same"))
			}
			added = added[n:]
		}
		return nil
	})
	return done, err
}

// changed runs a change of the items of a dictionary and notes it at the dictionary.
func (d *Dicts) changed(ctx context.Context, code, by string, change func(context.Context, *ent.Tx, *ent.Dict) error) error {
	err := d.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		in, err := tx.Dict.Query().Where(entdict.Code(code)).Only(ctx)
		if err != nil {
			return database.Mapped(err, noDict(code), nil)
		}
		if err := tx.Dict.Update().Where(entdict.ID(in.ID)).SetUpdateBy(by).SetUpdateTime(d.now()).Exec(ctx); err != nil {
			return err
		}
		return change(ctx, tx, in)
	})
	return database.Mapped(err, nil, nil)
}

func (w ItemWish) taken() *fault.Error {
	return fault.New(fault.Conflict, "the dictionary has an item with the code %q already", w.Code).Field("code", "exists already")
}

func (w ItemWish) create(tx *ent.Tx, dict int64, d *Dicts) *ent.DictItemCreate {
	now := d.now()
	return tx.DictItem.Create().SetCode(w.Code).SetName(w.named()).SetVal(w.Value).SetRemark(w.Remark).SetNillableSort(w.Sort).SetEruptDictID(dict).
		SetCreateBy(w.By).SetUpdateBy(w.By).SetCreateTime(now).SetUpdateTime(now)
}

func (w ItemWish) update(tx *ent.Tx, id int64, d *Dicts) *ent.DictItemUpdate {
	u := tx.DictItem.Update().Where(dictitem.ID(id)).SetCode(w.Code).SetName(w.named()).SetVal(w.Value).SetRemark(w.Remark).
		SetUpdateBy(w.By).SetUpdateTime(d.now())
	if w.Sort == nil {
		return u.ClearSort()
	}
	return u.SetSort(*w.Sort)
}

func (w ItemWish) named() string {
	if strings.TrimSpace(w.Name) == "" {
		return w.Code
	}
	return w.Name
}

func (w ItemWish) same(i Item) bool {
	sort := w.Sort == nil && i.Sort == nil || w.Sort != nil && i.Sort != nil && *w.Sort == *i.Sort
	return sort && w.named() == i.Name && w.Value == i.Value && w.Remark == i.Remark
}

func itemOf(r *ent.DictItem) Item {
	out := Item{ID: r.ID, Code: r.Code, Name: r.Name, Value: r.Val, Remark: r.Remark, Sort: r.Sort}
	if out.Name == "" {
		out.Name = r.Code
	}
	return out
}

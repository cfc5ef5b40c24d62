package interop.node.model;

import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.Table;
import xyz.erupt.annotation.Erupt;
import xyz.erupt.annotation.EruptField;
import xyz.erupt.annotation.sub_erupt.Power;
import xyz.erupt.annotation.sub_field.Edit;
import xyz.erupt.annotation.sub_field.View;
import xyz.erupt.jpa.model.BaseModel;

/** Empty until a test fills it: what makes a large export. */
@Entity
@Table(name = "archive")
@Erupt(name = "Archive", orderBy = "Archive.id", power = @Power(export = true))
public class Archive extends BaseModel {
    @Column(length = 32000)
    @EruptField(views = @View(title = "Text"), edit = @Edit(title = "Text"))
    private String text;
}

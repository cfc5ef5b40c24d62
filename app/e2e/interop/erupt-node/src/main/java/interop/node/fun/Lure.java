package interop.node.fun;

import interop.node.model.Widget;
import java.util.List;
import org.springframework.stereotype.Component;
import xyz.erupt.annotation.fun.OperationHandler;

/** Counts the rows it was called for. */
@Component
public class Lure implements OperationHandler<Widget, Void> {
    @Override
    public String exec(List<Widget> rows, Void form, String[] param) {
        return "msg.success('" + rows.size() + " lured')";
    }
}

import com.sun.net.httpserver.HttpExchange;
import java.lang.reflect.Method;
import org.apache.skywalking.apm.agent.core.context.ContextCarrier;
import org.apache.skywalking.apm.agent.core.context.ContextManager;
import org.apache.skywalking.apm.agent.core.context.trace.AbstractSpan;
import org.apache.skywalking.apm.agent.core.context.trace.SpanLayer;
import org.apache.skywalking.apm.agent.core.plugin.interceptor.enhance.EnhancedInstance;
import org.apache.skywalking.apm.agent.core.plugin.interceptor.enhance.InstanceMethodsAroundInterceptor;
import org.apache.skywalking.apm.agent.core.plugin.interceptor.enhance.MethodInterceptResult;
import org.apache.skywalking.apm.network.trace.component.ComponentsDefine;

/** Makes an entry span of every request, named as the agent's own plugins name them. */
public class EntrySpan implements InstanceMethodsAroundInterceptor {
    @Override
    public void beforeMethod(EnhancedInstance object, Method method, Object[] arguments, Class<?>[] types, MethodInterceptResult result) {
        HttpExchange exchange = (HttpExchange) arguments[0];
        String name = exchange.getRequestMethod() + ":" + exchange.getRequestURI().getPath();
        AbstractSpan span = ContextManager.createEntrySpan(name, new ContextCarrier());
        span.setComponent(ComponentsDefine.TOMCAT);
        SpanLayer.asHttp(span);
    }

    @Override
    public Object afterMethod(EnhancedInstance object, Method method, Object[] arguments, Class<?>[] types, Object result) {
        ContextManager.stopSpan();
        return result;
    }

    @Override
    public void handleMethodException(EnhancedInstance object, Method method, Object[] arguments, Class<?>[] types, Throwable thrown) {
        ContextManager.activeSpan().log(thrown);
    }
}

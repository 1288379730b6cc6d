import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Executors;

/**
 * A shop that SkyWalking's Java agent watches.
 *
 * <p>GET /checkout waits in loadPrices and in render and answers how long each
 * took, as JSON in milliseconds: what the analysis of a task is held against.
 * GET /spin computes for a moment, for profilers of the processor.
 *
 * <p>It prints its address once it answers.
 */
public class Shop {
    public static class Handler implements HttpHandler {
        @Override
        public void handle(HttpExchange exchange) throws IOException {
            String answer = "{}";
            switch (exchange.getRequestURI().getPath()) {
                case "/checkout" -> answer = checkout();
                case "/spin" -> answer = String.format(Locale.ROOT, "{\"sum\": %d}", spin());
                default -> { }
            }
            byte[] body = answer.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        }
    }

    static String checkout() {
        long start = System.nanoTime();
        loadPrices();
        long loaded = System.nanoTime();
        render();
        long rendered = System.nanoTime();
        return String.format(Locale.ROOT, "{\"slow\": %.3f, \"rest\": %.3f}", (loaded - start) / 1e6, (rendered - loaded) / 1e6);
    }

    static void loadPrices() {
        sleep(Long.getLong("shop.slow", 400));
    }

    static void render() {
        sleep(100);
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static long spin() {
        long sum = 0;
        for (long end = System.nanoTime() + 200_000_000L; System.nanoTime() < end; ) {
            sum = sum * 31 + 7;
        }
        return sum;
    }

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", new Handler());
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort());
    }
}

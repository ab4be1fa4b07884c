import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Answers a line for each line. "name HEX": X500Principal.getName() of a DER name. "map HEX HEX": what Kafka's SslPrincipalMapper makes
 * of a distinguished name by rules. Texts are UTF-8 in hex, behind "= "; a line "! ..." says what Java refuses.
 */
public class Principals {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            try {
                String said = words[0].equals("name")
                        ? new X500Principal(bytes(words[1])).getName()
                        : SslPrincipalMapper.fromRules(text(words[1])).getName(text(words[2]));
                out.println("= " + HexFormat.of().formatHex(said.getBytes(StandardCharsets.UTF_8)));
            } catch (Exception refused) {
                out.println("! " + refused.getClass().getSimpleName());
            }
        }
        out.flush();
    }

    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    private static String text(String hex) {
        return new String(bytes(hex), StandardCharsets.UTF_8);
    }
}
